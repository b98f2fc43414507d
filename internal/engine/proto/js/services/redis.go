// Package services has the modules of javascript blocks that speak to services: redis, ssh and pop3.
package services

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Redis is the module nuclei/redis.
func Redis(h *host.Host) *goja.Object {
	info := func(password int) host.Method {
		return h.Waits(func(a *host.Args) (any, error) {
			return redisAsk(h, a, password, "INFO")
		})
	}
	return h.Module(map[string]goja.Value{
		"GetServerInfo": h.Func(info(-1)), "GetServerInfoAuth": h.Func(info(2)),
		"Connect": h.Func(h.Waits(func(a *host.Args) (any, error) {
			_, err := redisAsk(h, a, 2, "INFO")
			return err == nil, err
		})),
		"RunLuaScript": h.Func(h.Waits(func(a *host.Args) (any, error) {
			return redisAsk(h, a, 2, "EVAL", a.Text(3), "0")
		})),
		// As in nuclei: whether Redis answers at all.
		"IsAuthenticated": h.Func(h.Waits(func(a *host.Args) (any, error) {
			_, err := redisAsk(h, a, -1, "PING")
			if _, answered := errors.AsType[redisError](err); answered {
				err = nil
			}
			return err == nil, err
		})),
	})
}

// redisAsk sends a command to the host and port of the first arguments, with the password in another; -1 for none.
func redisAsk(h *host.Host, a *host.Args, password int, command ...string) (any, error) {
	return h.Ask(a, 0, func(conn net.Conn) (any, error) {
		r := redis{conn, bufio.NewReader(conn)}
		if password >= 0 && a.Text(password) != "" {
			if _, err := r.do("AUTH", a.Text(password)); err != nil {
				return nil, err
			}
		}
		return r.do(command...)
	})
}

type redis struct {
	conn net.Conn
	in   *bufio.Reader
}

// redisError is an answer that is an error.
type redisError string

func (e redisError) Error() string { return string(e) }

const (
	maxRedisItems = 100_000
	maxRedisDepth = 32
	maxRedisBulk  = 8 << 20
)

func (r redis) do(command ...string) (any, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(r.conn, b.String()); err != nil {
		return nil, err
	}
	items := maxRedisItems
	return r.answer(&items, 0)
}

var errRedis = errors.New("the answer is not one of Redis")

// answer reads an answer: a text, a number, nil, or a list of them.
func (r redis) answer(items *int, depth int) (any, error) {
	if *items--; *items < 0 || depth > maxRedisDepth {
		return nil, errors.New("the answer of Redis is too large")
	}
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errRedis
	}
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(line), "\r\n")
	if text == "" {
		return nil, errRedis
	}
	switch kind, rest := text[0], text[1:]; kind {
	case '+':
		return rest, nil
	case '-':
		return nil, redisError(rest)
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil || n < -1 || n > maxRedisBulk || kind == '*' && n > maxRedisItems {
			return nil, errRedis
		}
		if n == -1 {
			return goja.Null(), nil
		}
		if kind == '*' {
			return r.list(n, items, depth)
		}
		data := make([]byte, n+2)
		if _, err := io.ReadFull(r.in, data); err != nil {
			return nil, err
		}
		return string(data[:n]), nil
	}
	return nil, errRedis
}

func (r redis) list(n int, items *int, depth int) (any, error) {
	list := []any{}
	for range n {
		v, err := r.answer(items, depth+1)
		if failed, ok := errors.AsType[redisError](err); ok {
			v, err = failed.Error(), nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
