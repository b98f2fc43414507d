package oast_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/oast"
)

// BenchmarkIntake takes in one interaction a round, by HTTP, by DNS and by both, from sixteen senders on loopback, with
// the bounds that a server has by default. Meanwhile a client polls as often as one does by default; in the end it must
// have all. Senders, server and client share the processors.
func BenchmarkIntake(b *testing.B) {
	for _, name := range []string{"http", "dns", "both"} {
		b.Run(name, func(b *testing.B) { intake(b, name) })
	}
}

func intake(b *testing.B, protocol string) {
	s, err := oast.NewServer(oast.Config{Domain: "oast.example"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	web, err := s.Listen("http://127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	names, err := s.Listen("dns://127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	c, err := oast.NewClient(b.Context(), http.DefaultClient, "http://"+web, "")
	if err != nil {
		b.Fatal(err)
	}
	got := 0
	drain := func() {
		if err := c.Drain(b.Context(), func(all []oast.Interaction) { got += len(all) }); err != nil {
			b.Error(err)
		}
	}
	over := make(chan struct{})
	var polling, sending sync.WaitGroup
	polling.Go(func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				drain()
			case <-over:
				return
			}
		}
	})
	b.ResetTimer()
	before := used(b)
	var next atomic.Int64
	for i := range 16 {
		send := httpSender
		if protocol == "dns" || protocol == "both" && i%2 == 0 {
			send = dnsSender
		}
		sending.Go(func() {
			if err := send(web, names, c, func() bool { return next.Add(1) <= int64(b.N) }); err != nil {
				b.Error(err)
			}
		})
	}
	sending.Wait()
	b.StopTimer()
	work := used(b) - before
	close(over)
	polling.Wait()
	drain()
	if got != b.N {
		dropped, _ := s.Dropped()
		b.Fatalf("%d of %d interactions, %d dropped", got, b.N, dropped)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "interactions/s")
	b.ReportMetric(float64(work.Microseconds())/float64(b.N), "cpu-µs/interaction")
}

// used is what this process has had of the processors.
func used(b *testing.B) time.Duration {
	var all syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &all); err != nil {
		b.Fatal(err)
	}
	return time.Duration(all.Utime.Nano() + all.Stime.Nano())
}

// httpSender sends requests over one connection, and reads each answer.
func httpSender(at, _ string, c *oast.Client, more func() bool) error {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for more() {
		id, _ := c.URL()
		if _, err := fmt.Fprintf(conn, "GET /x HTTP/1.1\r\nHost: %s.oast.example\r\nUser-Agent: curl/7.88.1\r\n\r\n", id); err != nil {
			return err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
	}
	return nil
}

// dnsSender sends questions from one port, and reads each answer.
func dnsSender(_, at string, c *oast.Client, more func() bool) error {
	conn, err := net.Dial("udp", at)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer := make([]byte, 512)
	for more() {
		id, _ := c.URL()
		question, err := new(dns.Msg).SetQuestion(id+".oast.example.", dns.TypeA).Pack()
		if err != nil {
			return err
		}
		if _, err := conn.Write(question); err != nil {
			return err
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := conn.Read(answer); err != nil {
			return err
		}
	}
	return nil
}
