# SPDX-License-Identifier: MIT
# sites.py - what gdb says of call sites: the variable that is handed a call's result, and has the size asked for.
#
# Run by gdb on the live process: $sites is a file of lines "SITE SIZE PC…" (return addresses, innermost first), $header what
# the program's own allocator puts in front of each block (bytes), $wrappers names of its functions that hand on a block in
# other ways. Prints
# "= SITE SIZE TYPE", types of equal size separated by "|". A variable counts at a PC if it is a pointer to something
# of that size and comes to be in rax, or in the register to which rax was moved, before that holds something else. Frames farther out are asked only behind
# functions that return void *: others may have wanted the block for themselves. Of C++ the template argument of
# std::allocator counts, too.
import re
import gdb

REACH = 64  # bytes behind the call in which the result arrives
ALLOCATORS = {"g_malloc", "g_malloc0", "g_malloc_n", "g_malloc0_n", "g_realloc", "g_slice_alloc", "g_slice_alloc0"}
NAMES = {f"r{x}x": (f"%r{x}x", f"%e{x}x", f"%{x}x", f"%{x}l") for x in "abcd"}
NAMES.update({f"r{x}": (f"%r{x}", f"%e{x}", f"%{x}") for x in ("si", "di", "bp")})
NAMES.update({f"r{n}": (f"%r{n}", f"%r{n}d") for n in range(8, 16)})


def name(kind):
    """The name that a type has in the program, with and without its typedef; then, behind "~", what it begins with."""
    names, mark = [], ""
    while True:
        bare = kind.strip_typedefs()
        names += [mark + each for each in (kind.name, bare.tag) if each]
        fields = bare.fields() if bare.code == gdb.TYPE_CODE_STRUCT else []
        if not fields or not fields[0].type or getattr(fields[0], "bitpos", 1):
            return names
        kind, mark = fields[0].type, "~"
        if kind.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
            return names


def landings(pc):
    """Registers that hold the result, each with the addresses between which it does."""
    since, until = {"rax": pc}, {}
    try:
        code = gdb.selected_inferior().architecture().disassemble(pc, pc + REACH)
    except gdb.error:
        code = []
    for step in code:
        word, _, rest = step["asm"].split("<")[0].partition(" ")
        operands = rest.strip().split(",")
        behind = step["addr"] + step["length"]
        if word.startswith(("call", "ret", "jmp")):
            for register in since:
                until.setdefault(register, step["addr"])
            break
        if word == "mov" and operands[0] == "%rax" and "rax" not in until and operands[-1].startswith("%"):
            since.setdefault(operands[-1][1:], behind)
        elif not word.startswith(("cmp", "test", "push", "j")):
            for register in since:
                if operands[-1] in NAMES.get(register, ()):
                    until.setdefault(register, step["addr"])
    return {register: (since[register], until.get(register, pc + REACH)) for register in since}


def variables(pc):
    """Names of the variables that get the result of the call before pc."""
    where = landings(pc)
    try:
        said = gdb.execute(f"info scope *{pc}", to_string=True)
    except gdb.error:
        return
    variable = None
    for line in said.splitlines():
        begins = re.match(r"(?:.*: )?Symbol (\S+) is (.*)", line)
        if begins:
            variable = begins.group(1)
        spot = re.search(r"Range (0x[0-9a-f]+)-(0x[0-9a-f]+): a variable in \$(\w+)", line)
        if variable and spot:
            low, high, register = int(spot.group(1), 16), int(spot.group(2), 16), spot.group(3)
            since, until = where.get(register, (1, 0))
            # What was there before the call is another value.
            if pc <= low < high and since <= low <= until:
                yield variable


def element(pc):
    """What std::allocator makes room for, if the call is its own; or None."""
    block = gdb.block_for_pc(pc - 1)
    while block and not block.is_global and not block.is_static:
        made = re.match(r"(?:std::__new_allocator|__gnu_cxx::new_allocator|std::__1::allocator)<(.*)>::allocate\(", str(block.function))
        if made:
            return made.group(1).strip()
        block = block.superblock
    return None


def types_of(pc):
    """Pairs of size and names of what those variables point to; size None: of any."""
    made = element(pc)
    if made:
        return [(None, [made, made + "[]"])]
    wanted = set(variables(pc))
    found = []
    block = gdb.block_for_pc(pc) if wanted else None
    while block and not block.is_global and not block.is_static:
        for symbol in block:
            if symbol.name in wanted and symbol.type:
                kind = symbol.type.strip_typedefs()
                if kind.code in (gdb.TYPE_CODE_PTR,):
                    target = kind.target().unqualified()
                    bare = target.strip_typedefs()
                    if bare.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and bare.sizeof:
                        found.append((bare.sizeof, name(target)))
        block = block.superblock
    return found


def hands_on(pc):
    """Does the function at pc return what it may have got from the call: a void *?"""
    function = None
    block = gdb.block_for_pc(pc - 1)  # of the call, not of what follows
    while block and not block.is_global and not block.is_static:
        function = block.function or function
        block = block.superblock
    if not function:  # no debug info: only the allocators that are known by name
        symbol = gdb.execute(f"info symbol {pc - 1}", to_string=True)
        return symbol.split(" ")[0] in ALLOCATORS or symbol.startswith("operator new")
    if function.type.code != gdb.TYPE_CODE_FUNC:
        return False
    if function.name in wrappers:
        return True
    result = function.type.target().strip_typedefs()
    return result.code == gdb.TYPE_CODE_PTR and result.target().strip_typedefs().code == gdb.TYPE_CODE_VOID


header = int(gdb.parse_and_eval("$header"))
wrappers = gdb.parse_and_eval("$wrappers").string().split()
known = {}
for line in open(gdb.parse_and_eval("$sites").string()):
    site, size, *pcs = line.split()
    for pc in pcs:
        pc = int(pc, 16)
        if pc not in known:
            known[pc] = types_of(pc), hands_on(pc)
        names = [n for each, ns in known[pc][0] if each in (None, int(size), int(size) - header) for n in ns]
        if names:
            print(f"= {site} {size} {'|'.join(dict.fromkeys(names))}")
        if names or not known[pc][1]:
            break
