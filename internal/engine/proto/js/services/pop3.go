package services

import (
	"bufio"
	"net"
	"strings"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// POP3 is the module nuclei/pop3.
func POP3(h *host.Host) *goja.Object {
	return h.Module(map[string]goja.Value{"IsPOP3": h.Func(h.Waits(func(a *host.Args) (any, error) {
		return h.Ask(a, 0, func(conn net.Conn) (any, error) {
			line, err := bufio.NewReader(conn).ReadSlice('\n')
			banner := strings.TrimSpace(string(line))
			is := err == nil && strings.HasPrefix(banner, "+OK")
			if !is {
				banner = ""
			}
			return host.Fields{{Name: "IsPOP3", Value: is}, {Name: "Banner", Value: banner}}, nil
		})
	}))})
}
