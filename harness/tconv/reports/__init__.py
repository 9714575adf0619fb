"""Reports: records and waivers, presented for a person or for another program."""
