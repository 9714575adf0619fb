"""Reports: records and waivers, written for a person or for another program."""
