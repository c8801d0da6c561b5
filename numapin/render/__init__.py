"""How values are shown: text for a person, JSON for a program, a picture of the machine."""
