# SPDX-License-Identifier: MIT
# classes.py - what gdb says of first words: the class whose vtable's address they are.
#
# Run by gdb on the live process: $words is a file of lines "WORD N". Prints "= WORD TYPE": one such object or a run of
# them, and, less said, its first base.
import re
import gdb


def names(text):
    found = [text, text + "[]"]
    try:
        kind = gdb.lookup_type(text)
    except gdb.error:
        return found
    while kind.code == gdb.TYPE_CODE_STRUCT and kind.fields() and kind.fields()[0].is_base_class:
        kind = kind.fields()[0].type
        found.append("~" + kind.name)
    return found


for line in open(gdb.parse_and_eval("$words").string()):
    word = line.split()[0]
    said = gdb.execute(f"info symbol 0x{word}", to_string=True)
    symbol = re.match(r"vtable for (.*) \+ 16(?: in section .*)?$", said.strip())
    if symbol:
        print(f"= {word} {'|'.join(names(symbol.group(1)))}")
