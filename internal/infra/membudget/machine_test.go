package membudget

import (
	"testing"
	"testing/fstest"
)

func TestMachine(t *testing.T) {
	const meminfo = "MemTotal:        8000000 kB\nMemFree:         1000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a machine":             {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n"}, 8_000_000 << 10},
		"nothing can be read":   {nil, 4 << 30},
		"nonsense in all files": {map[string]string{"proc/meminfo": "MemTotal: x kB\n", "proc/self/cgroup": "\n:\n::\n0::\n"}, 4 << 30},
		"version 2": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/vedette.service\n",
			"sys/fs/cgroup/system.slice/vedette.service/memory.max": "1073741824\n"}, 1 << 30},
		"version 2, bounded further out": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b/c\n",
			"sys/fs/cgroup/a/b/c/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "536870912\n"}, 512 << 20},
		"a container that names its group as the host does": {map[string]string{"proc/meminfo": meminfo,
			"proc/self/cgroup": "0::/docker/0123\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"version 1": {map[string]string{"proc/meminfo": meminfo,
			"proc/self/cgroup": "12:pids:/x\n11:cpu,memory:/docker/0123\n0::/x\n",
			"sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes": "268435456\n"}, 256 << 20},
		"version 1 without a bound": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "11:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8_000_000 << 10},
		"a bound above the machine": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "1099511627776\n"}, 8_000_000 << 10},
		"a group that leads out": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../x\n",
			"sys/fs/cgroup/x/memory.max": "1048576\n"}, 1 << 20},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := machine(root); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}
