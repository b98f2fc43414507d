//go:build linux && amd64

package port_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/port"
)

// nmap scans beside us, and gives the open ports by host and how long it took.
func nmap(b *testing.B, args ...string) (map[string][]uint16, time.Duration) {
	b.Helper()
	binary, err := exec.LookPath("nmap")
	if err != nil {
		b.Skip("nmap is not installed")
	}
	start := time.Now()
	out, err := exec.Command(binary, append([]string{"-sT", "-T5", "-n", "-oG", "-"}, args...)...).CombinedOutput()
	took := time.Since(start)
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	found := map[string][]uint16{}
	host, open := regexp.MustCompile(`^Host: (\S+)`), regexp.MustCompile(`(\d+)/open/tcp`)
	for line := range strings.Lines(string(out)) {
		if h := host.FindStringSubmatch(line); h != nil {
			for _, m := range open.FindAllStringSubmatch(line, -1) {
				p, _ := strconv.Atoi(m[1])
				found[h[1]] = append(found[h[1]], uint16(p))
			}
		}
	}
	return found, took
}

// BenchmarkFullScan scans all ports of a host on loopback, beside nmap in the same run:
// "x nmap" is how many times as fast we are.
func BenchmarkFullScan(b *testing.B) {
	const ip = "127.21.1.1"
	listen(b, ip, 50)
	ports, _ := port.Parse("full")
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		results, err := port.Scan(b.Context(), port.Config{Admit: everything}, []port.Target{{Addr: netip.MustParseAddr(ip)}},
			ports)
		ours += time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
		found, took := nmap(b, "-Pn", "-p-", ip)
		theirs += took
		if want := slices.Sorted(slices.Values(found[ip])); !slices.Equal(results[0].Open, want) {
			b.Fatalf("%d open ports, nmap finds %d", len(results[0].Open), len(want))
		}
	}
	b.ReportMetric(float64(b.N)*65535/ours.Seconds(), "ports/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x_nmap")
}

// BenchmarkMostlyDead scans a thousand ports of a /24 of which five hosts live, in a network
// namespace of its own, beside nmap.
func BenchmarkMostlyDead(b *testing.B) {
	if os.Getuid() != 0 {
		b.Skip("a network namespace needs root")
	}
	name, link := fmt.Sprintf("vedette%d", os.Getpid()), fmt.Sprintf("v%d", os.Getpid())
	run := func(args ...string) {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			b.Skipf("ip %v: %v: %s", args, err, out)
		}
	}
	run("netns", "add", name)
	b.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	run("link", "add", link+"a", "type", "veth", "peer", "name", link+"b", "netns", name)
	b.Cleanup(func() { _ = exec.Command("ip", "link", "del", link+"a").Run() })
	run("addr", "add", "10.231.7.1/24", "dev", link+"a")
	run("link", "set", link+"a", "up")
	run("-n", name, "link", "set", "lo", "up")
	run("-n", name, "link", "set", link+"b", "up")
	var targets []port.Target
	for i := 2; i < 255; i++ {
		targets = append(targets, port.Target{Addr: netip.AddrFrom4([4]byte{10, 231, 7, byte(i)})})
	}
	alive := []string{"10.231.7.10", "10.231.7.50", "10.231.7.100", "10.231.7.150", "10.231.7.200"}
	for _, a := range alive {
		run("-n", name, "addr", "add", a+"/24", "dev", link+"b")
	}
	inside(b, name, func() {
		for _, a := range alive {
			listenAt(b, a, 80, 8080)
		}
	})
	ports, _ := port.Parse("top-1000")
	spec := make([]string, len(ports))
	for i, p := range ports {
		spec[i] = strconv.Itoa(int(p))
	}
	var ours, theirs time.Duration
	for b.Loop() {
		run("neigh", "flush", "dev", link+"a")
		start := time.Now()
		results, err := port.Scan(b.Context(), port.Config{Admit: everything}, targets, ports)
		ours += time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
		run("neigh", "flush", "dev", link+"a")
		found, took := nmap(b, "-p", strings.Join(spec, ","), "10.231.7.2-254")
		theirs += took
		for i, r := range results {
			if want := found[targets[i].Addr.String()]; !slices.Equal(r.Open, slices.Sorted(slices.Values(want))) {
				b.Fatalf("%s: open %v, nmap finds %v", targets[i].Addr, r.Open, want)
			}
		}
	}
	b.ReportMetric(theirs.Seconds()/float64(b.N), "nmap_s/op")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x_nmap")
}

// inside runs f in a network namespace. The thread that was there is not used again.
func inside(b *testing.B, namespace string, f func()) {
	b.Helper()
	file, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		b.Skip(err)
	}
	defer file.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		const setns = 308 // x86-64
		if _, _, errno := syscall.RawSyscall(setns, file.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
			b.Error(errno)
			return
		}
		f()
	}()
	<-done
}

// listenAt opens ports in the namespace of the thread; sockets keep the namespace they were
// made in.
func listenAt(b *testing.B, ip string, ports ...int) {
	for _, p := range ports {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: p, Addr: netip.MustParseAddr(ip).As4()})
		}
		if err == nil {
			err = syscall.Listen(fd, 1024)
		}
		if err != nil {
			b.Error(err)
			return
		}
		b.Cleanup(func() { _ = syscall.Close(fd) })
	}
}
