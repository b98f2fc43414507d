package web_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// Each way of sending records what it sent and was answered, once.
func TestRecord(t *testing.T) {
	address := listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for {
			fields := strings.Fields(request(r))
			if len(fields) < 2 || fields[1] == "/lost" {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(fields[1]), fields[1])
		}
	})
	var mu sync.Mutex
	got := map[string]traffic.Exchange{}
	count := 0
	c := newClient(t, web.Config{Record: func(x traffic.Exchange) {
		mu.Lock()
		defer mu.Unlock()
		got[x.URL] = x
		count++
	}})
	check := func(what string, want int) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if count != want {
			t.Errorf("%s: %d are recorded, want %d", what, count, want)
		}
		for at, x := range got {
			path := at[strings.LastIndex(at, "/"):]
			if x.Status != 200 || !strings.HasPrefix(string(x.Request), "GET "+path+" HTTP/1.1\r\n") || !strings.HasSuffix(string(x.Response), "\r\n\r\n"+path) {
				t.Errorf("%s: %+v", what, x)
			}
		}
		clear(got)
		count = 0
	}
	for _, r := range numbered(address, 3) {
		if _, err := c.Do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	check("one by one", 3)
	c.Pipeline(t.Context(), numbered(address, 4))
	check("a pipeline", 4)
	c.Race(t.Context(), numbered(address, 5))
	check("a race", 5)
	address.Path = "/lost"
	if _, err := c.Do(t.Context(), web.Request{Address: address, Fresh: true}); err == nil {
		t.Fatal("the lost answer came")
	}
	if x := got[address.String()]; x.Status != 0 || x.Error == "" || len(x.Response) > 0 {
		t.Errorf("a lost answer: %+v", x)
	}
}
