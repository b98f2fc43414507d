package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// piped is a client of a server that answers each request by its number, from 1, and its path, on a clock of its own.
func piped(cfg client.Config, answer func(n int, path string) string) *client.Client {
	n := 0
	cfg.Level = client.Safe
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			buffer := make([]byte, 4096)
			read, _ := there.Read(buffer)
			n++
			fmt.Fprintf(there, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
				answer(n, strings.Fields(string(buffer[:read]))[1]))
		}()
		return here, nil
	}
	return client.New(cfg)
}

// A target that refuses everything from some request on is gone, and it is said that it blocks. One that refuses
// tests alone, as a filter does, is not; nor is one that comes back.
func TestBlocked(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(n int, path string) string
		blocked bool
	}{
		"banned":      {func(n int, _ string) string { return status(n > 5, "403 Forbidden") }, true},
		"too often":   {func(n int, _ string) string { return status(n > 5, "429 Too Many\r\nRetry-After: 3600") }, true},
		"for an hour": {func(n int, _ string) string { return status(n > 5, "429 Too Many\r\nRetry-After: 120") }, true},
		"a filter":    {func(_ int, path string) string { return status(strings.Contains(path, "?"), "403 Forbidden") }, false},
		"for a time":  {func(n int, _ string) string { return status(n > 5 && n < 32, "503 Unavailable") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sender := piped(client.Config{}, c.answer)
				defer sender.Close()
				var err error
				for n := range 200 {
					at := "http://busy.test/page"
					if n > 2 {
						at += fmt.Sprintf("%d?q=1", n)
					}
					if _, err = sender.Send(t.Context(), get(t, at), client.Options{Fresh: true}); err != nil {
						break
					}
				}
				blocked, asked := sender.Refusals()
				if errors.Is(err, client.ErrBlocked) != c.blocked || blocked != c.blocked || err != nil && !c.blocked ||
					(asked > 0) != strings.Contains(c.answer(6, ""), "429") {
					t.Errorf("%v, blocked: %v, asked to come later: %d", err, blocked, asked)
				}
				if c.blocked && !errors.Is(err, client.ErrDown) {
					t.Error("a target that blocks has not gone")
				}
			})
		})
	}
}

func status(refused bool, text string) string {
	if refused {
		return text
	}
	return "200 OK"
}

// Nothing waits beyond the time of the budget: not a pause that the target asks for, and not an answer.
func TestNothingWaitsBeyondTheBudget(t *testing.T) {
	for name, answer := range map[string]func(int, string) string{
		"a pause": func(int, string) string { return "429 Too Many\r\nRetry-After: 100" },
		"an answer": func(n int, _ string) string {
			if n > 1 {
				time.Sleep(time.Minute)
			}
			return "200 OK"
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				sender := piped(client.Config{Until: began.Add(10 * time.Second), Timeout: time.Minute}, answer)
				defer sender.Close()
				_, first := sender.Send(t.Context(), get(t, "http://busy.test/"), client.Options{Fresh: true})
				_, second := sender.Send(t.Context(), get(t, "http://busy.test/"), client.Options{Fresh: true})
				if took := time.Since(began); first != nil || !errors.Is(second, client.ErrBudget) || took != 10*time.Second {
					t.Errorf("%v, then %v after %s", first, second, took)
				}
				time.Sleep(time.Minute) // of the clock here: the server ends
			})
		})
	}
}
