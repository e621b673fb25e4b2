"""The virtual machines: their hardware, what runs in them, and what has to come of it."""

import json


def memory(name, size):
    return ["-object", f"memory-backend-ram,id={name},size={size}M"]


class Machine:
    def __init__(self, options, commands):
        self.options = ["-smp", "2", *options]
        self.commands = [command for command, _ in commands]
        self.checks = {number: check for number, (_, check) in enumerate(commands) if check}


def pool(document, node, page_size=2 << 20):
    found = next(entry for entry in document["nodes"] if entry["id"] == node)
    return next(entry for entry in found["pools"] if entry["page_size_bytes"] == page_size)


def shows_two_nodes(command):
    """both nodes, their processors and their pools are shown"""
    document = json.loads(command.text)
    assert [node["id"] for node in document["nodes"]] == [0, 1]
    assert [node["cpus"] for node in document["nodes"]] == ["0", "1"]
    assert [pool(document, node)["total"] for node in (0, 1)] == [16, 16]


def reserved_on_node_1(command):
    """8 more pages are on node 1 and none on node 0"""
    document = json.loads(command.text)
    assert [pool(document, node)["total"] for node in (0, 1)] == [16, 24]


def too_many_on_node_1(command):
    """exit code 3 with wanted, got and the node"""
    assert command.code == 3, command.code
    assert "node 1" in command.text and "180 " in command.text


def measured_on_node_1(command):
    """memory of node 1 is measured and said to be"""
    assert command.code == 0, command.code
    runs = command.document()["runs"]
    assert runs and all(run["case"]["node"] == 1 for run in runs)
    assert all(sample > 0 for run in runs for sample in run["samples"])


def node_1_is_too_small(command):
    """20 pages aren't on node 1, though the machine has 32: exit code 3 with the node and what to do"""
    assert command.code == 3, command.code
    assert "node 1" in command.text and "hugeclear reserve 2M@1=+4" in command.text


def no_memory_on_node_1(command):
    """node 1 is refused, as it has no memory"""
    assert command.code in (4, 64), command.code
    assert "node 1 has no memory" in command.text


def shows_memoryless_node(command):
    """node 1 has a processor and no memory"""
    node = json.loads(command.text)["nodes"][1]
    assert node["id"] == 1 and node["cpus"] == "1" and not node["has_memory"]


def shows_cpuless_node(command):
    """node 1 has memory and no processor"""
    node = json.loads(command.text)["nodes"][1]
    assert node["id"] == 1 and node["cpus"] == "" and node["has_memory"] and node["total_bytes"] > 0


def shows_three_nodes(command):
    """the third node has no processor, and distances are the machine's"""
    document = json.loads(command.text)
    assert [node["cpus"] for node in document["nodes"]] == ["0", "1", ""]
    assert [list(node["distances"].values()) for node in document["nodes"]] == DISTANCES
    assert document["nodes"][2]["nearest_cpus"] == 1


# Node 2 is nearer to 1 than to 0: its number alone doesn't tell.
DISTANCES = [[10, 20, 30], [20, 10, 15], [30, 15, 10]]

MACHINES = {
    "two": Machine(
        ["-m", "640M", *memory("m0", 320), *memory("m1", 320),
         "-numa", "node,nodeid=0,cpus=0,memdev=m0", "-numa", "node,nodeid=1,cpus=1,memdev=m1"],
        [("reserve 2M@0=16 2M@1=16", None),
         ("status --json", shows_two_nodes),
         ("/vm_nodes two", None),
         ("bench clear -s 16M -p 2M -e 2M -f default -l 1 --node 1", measured_on_node_1),
         ("bench map -s 16M -p 2M,thp,base -l 1 --node 1", measured_on_node_1),
         ("bench map -s 40M -p 2M -l 1 --node 1", node_1_is_too_small),
         ("reserve 2M@1=+8", None),
         ("status --json", reserved_on_node_1),
         ("reserve --force 2M@1=180", too_many_on_node_1)]),
    "memoryless": Machine(
        ["-m", "384M", *memory("m0", 384),
         "-numa", "node,nodeid=0,cpus=0,memdev=m0", "-numa", "node,nodeid=1,cpus=1"],
        [("reserve 2M=16", None),
         ("status --json", shows_memoryless_node),
         ("/vm_nodes memoryless", None),
         ("bench clear -s 8M -p 2M --node 1", no_memory_on_node_1),
         ("bench map -s 8M -p 2M --node 1", no_memory_on_node_1),
         ("bench clear -s 8M -p 2M -e 2M -f default -l 1 --cpus 1", None),
         ("reserve 2M@1=+1", no_memory_on_node_1)]),
    "cpuless": Machine(
        ["-m", "640M", *memory("m0", 320), *memory("m1", 320),
         "-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,memdev=m1"],
        [("reserve 2M@0=16 2M@1=16", None),
         ("status --json", shows_cpuless_node),
         ("/vm_nodes cpuless", None),
         ("bench clear -s 8M -p 2M -e 2M -f default -l 1 -t 2 --node 1", measured_on_node_1),
         ("bench map -s 8M -p 2M -l 1 -t 2 --node 1", measured_on_node_1)]),
    "three": Machine(
        ["-m", "640M", *memory("m0", 320), *memory("m1", 160), *memory("m2", 160),
         "-numa", "node,nodeid=0,cpus=0,memdev=m0", "-numa", "node,nodeid=1,cpus=1,memdev=m1", "-numa", "node,nodeid=2,memdev=m2",
         *[word for a in range(3) for b in range(3) for word in ("-numa", f"dist,src={a},dst={b},val={DISTANCES[a][b]}")]],
        [("reserve 2M@0=8 2M@1=8 2M@2=8", None),
         ("status --json", shows_three_nodes),
         ("/vm_nodes three", None)]),
}
