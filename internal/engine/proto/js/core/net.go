package core

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

const (
	readTimeout = 5 * time.Second // by default
	defaultRead = 4096            // bytes of Recv without a number
	maxRead     = 1 << 20         // bytes of one read: as many as an array may have
)

// Net is the module nuclei/net: connections over TCP, UDP and TLS.
func Net(h *host.Host) *goja.Object {
	open := func(encrypted bool) goja.Value {
		return h.Func(h.Waits(func(a *host.Args) (any, error) {
			address := a.Text(1)
			conn, err := h.Dial(a.Text(0), address)
			if err != nil {
				return nil, err
			}
			if encrypted {
				name, _, _ := net.SplitHostPort(address)
				ctx, cancel := context.WithTimeout(h.Ctx, h.Timeout)
				defer cancel()
				if conn, err = tlsfacts.Client(ctx, conn, name); err != nil {
					return nil, err
				}
			}
			return (&connection{conn, min(readTimeout, h.Timeout), h}).object(), nil
		}))
	}
	return h.Module(map[string]goja.Value{"Open": open(false), "OpenTLS": open(true)})
}

type connection struct {
	conn    net.Conn
	timeout time.Duration
	host    *host.Host
}

func (c *connection) object() *goja.Object {
	h := c.host
	receive := func(read func(n int) ([]byte, error), show func(b []byte) any) host.Method {
		return h.Waits(func(a *host.Args) (any, error) {
			b, err := read(a.Int(0))
			if err != nil {
				return nil, err
			}
			return show(b), nil
		})
	}
	raw := func(b []byte) any { return b }
	text := func(b []byte) any { return string(b) }
	dump := func(b []byte) any { return hex.Dump(b) }
	return h.Object("net.NetConn", nil, host.Methods{
		"Close": func(*host.Args) (any, error) { return nil, c.conn.Close() },
		"SetTimeout": func(a *host.Args) (any, error) {
			if n := a.Int(0); n > 0 {
				c.timeout = time.Duration(min(n, 600)) * time.Second
			}
			return nil, nil //nolint:nilnil // a script sees undefined
		},
		"Send":      h.Waits(func(a *host.Args) (any, error) { return nil, c.send([]byte(a.Text(0))) }),
		"SendArray": h.Waits(func(a *host.Args) (any, error) { return nil, c.send(a.Bytes(0)) }),
		"SendHex": h.Waits(func(a *host.Args) (any, error) {
			data, err := hex.DecodeString(strings.TrimSpace(a.Text(0)))
			if err != nil {
				return nil, err
			}
			return nil, c.send(data)
		}),
		"Recv": receive(c.read, raw), "RecvString": receive(c.read, text), "RecvHex": receive(c.read, dump),
		"RecvFull": receive(c.readFull, raw), "RecvFullString": receive(c.readFull, text),
		"RecvFullHex": receive(c.readFull, dump),
	})
}

func (c *connection) send(data []byte) error {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(data)
	return err
}

// space is what a read of n bytes goes into.
func space(n, otherwise int) ([]byte, error) {
	if n <= 0 {
		n = otherwise
	}
	if n > maxRead {
		return nil, fmt.Errorf("a read of more than %d bytes", maxRead)
	}
	return make([]byte, n), nil
}

// read reads once.
func (c *connection) read(n int) ([]byte, error) {
	b, err := space(n, defaultRead)
	if err != nil {
		return nil, err
	}
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	got, err := c.conn.Read(b)
	if got > 0 {
		err = nil
	}
	return b[:got], err
}

// readFull reads n bytes, or without a number all until the other end closes or falls silent.
func (c *connection) readFull(n int) ([]byte, error) {
	b, err := space(n, maxRead)
	if err != nil {
		return nil, err
	}
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	got, err := io.ReadFull(c.conn, b)
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded)
	if n <= 0 && got > 0 && ended {
		err = nil
	}
	return b[:got], err
}
