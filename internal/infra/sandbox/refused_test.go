package sandbox

import "testing"

// What a child writes when the kernel refuses it memory: the message of the runtime, or a fault of its collector.
func TestRefusedMemory(t *testing.T) {
	const fault = "SIGSEGV: segmentation violation\nPC=0x43145d m=0 sigcode=1 addr=0x0\n\n"
	for text, want := range map[string]bool{
		"fatal error: runtime: out of memory\n\ngoroutine 1 [running]:\n":                                           true,
		"runtime/cgo: pthread_create failed: cannot allocate memory\n":                                              true,
		fault + "goroutine 0 gp=0x73f860 m=0 mp=0x740860 [idle]:\nruntime.(*spanQueue).tryDrain(0x7fff00000400?)\n": true,
		fault + "goroutine 7 gp=0x73f860 m=0 mp=0x740860 [running]:\nruntime.memmove()\n":                           false,
		fault + "goroutine 0 gp=0x73f860 m=0 mp=0x740860 [idle]:\nmain.f()\n":                                       false,
		"panic: " + fault + "goroutine 0 gp=0x73f860 m=0 mp=0x740860 [idle]:\nruntime.f()\n":                        false,
		"panic: runtime error: invalid memory address or nil pointer dereference\n":                                 false,
	} {
		if got := refusedMemory(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
