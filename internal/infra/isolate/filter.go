package isolate

import (
	"bytes"
	"encoding/binary"
	"sync"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are system calls that programs of tools do not need, and with which attacks on a kernel begin: other
// namespaces and mounts, other processes' memory, the keyrings, the kernel's own programs and modules, its clock.
var refused = []string{
	"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
	"pidfd_getfd", "kcmp", "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd",
	"io_uring_setup", "io_uring_enter", "io_uring_register", "init_module", "finit_module", "delete_module",
	"kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "syslog", "vhangup",
	"open_by_handle_at", "name_to_handle_at", "lookup_dcookie", "settimeofday", "clock_settime", "clock_adjtime",
	"adjtimex", "sethostname", "setdomainname", "personality", "fanotify_init", "mbind", "set_mempolicy", "migrate_pages",
	"move_pages", "iopl", "ioperm",
}

// families are those of sockets that programs may make.
var families = []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// filter is the program of seccomp that bubblewrap loads, as the kernel reads it.
var filter = sync.OnceValues(func() ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	known := func(names []string) (there []string) {
		for _, name := range names {
			if _, ok := info.SyscallNames[name]; ok {
				there = append(there, name)
			}
		}
		return there
	}
	var notThese seccomp.ArgumentConditions
	for _, family := range families {
		notThese = append(notThese, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: family})
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		// clone3 has its flags in memory, where a filter cannot see them: libraries then use clone.
		{Names: known([]string{"clone3"}), Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{Names: known(refused), Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)},
		{NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "socket", Conditions: notThese},
			{Name: "clone", Conditions: seccomp.ArgumentConditions{
				{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_NEWUSER},
			}},
			{Name: "ioctl", Conditions: seccomp.ArgumentConditions{
				{Argument: 1, Operation: seccomp.Equal, Value: unix.TIOCSTI},
			}},
		}, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)},
	}}
	rules, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// The library lets pass what is called in the way of another architecture, such as 32 bits: it ends the program here.
	rules = append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
	}, rules...)
	raw, err := bpf.Assemble(rules)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, r := range raw {
		_ = binary.Write(&b, binary.NativeEndian, r.Op)
		_ = binary.Write(&b, binary.NativeEndian, r.Jt)
		_ = binary.Write(&b, binary.NativeEndian, r.Jf)
		_ = binary.Write(&b, binary.NativeEndian, r.K)
	}
	return b.Bytes(), nil
})
