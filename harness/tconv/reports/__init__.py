"""Reports: records and waivers, told to a person or to another program."""
