package services

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Rsync is the module nuclei/rsync: the greeting of a daemon, the list of its modules, and the files of one.
func Rsync(h *host.Host) *goja.Object {
	client := h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("rsync.RsyncClient", nil, host.Methods{
			"ListFilesInModule": listFiles(h),
			"ListModules": h.Waits(func(a *host.Args) (any, error) {
				return h.Ask(a, 0, func(conn net.Conn) (any, error) {
					names, lines, err := rsyncModules(conn)
					if err != nil {
						return nil, err
					}
					return host.Fields{
						{Name: "Modules", Value: names}, {Name: "Files", Value: []string{}}, {Name: "Output", Value: lines},
					}, nil
				})
			}),
		}), nil
	})
	return h.Module(map[string]goja.Value{
		"RsyncClient": client,
		"IsRsync": h.Func(h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) {
				got, err := h.Exchange(conn, []byte("@RSYNCD: 29\n"))
				version, is := strings.CutPrefix(string(got), "@RSYNCD:")
				if err != nil && is {
					return nil, err
				}
				version, _, _ = strings.Cut(version, "\n")
				if !is {
					version = ""
				}
				return host.Fields{{Name: "IsRsync", Value: is}, {Name: "Banner", Value: strings.TrimSpace(version)}}, nil
			})
		})),
	})
}

const maxModules = 10_000

// rsyncModules asks a daemon for its modules; lines are what it sent.
func rsyncModules(conn net.Conn) (names []string, lines string, err error) {
	in := bufio.NewReader(conn)
	if _, err := conn.Write([]byte("@RSYNCD: 30.0\n#list\n")); err != nil {
		return nil, "", err
	}
	var all strings.Builder
	names = []string{}
	for n := range maxModules {
		raw, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, "", errors.New("a line of the server is too long")
		}
		if err != nil {
			return nil, "", fmt.Errorf("the list ends early: %w", err)
		}
		line := strings.TrimRight(string(raw), "\r\n")
		rest, command := strings.CutPrefix(line, "@RSYNCD:")
		switch {
		case n == 0 && !command:
			return nil, "", errors.New("the server does not speak rsync")
		case n == 0:
			continue
		case command && strings.TrimSpace(rest) == "EXIT":
			return names, all.String(), nil
		}
		if name, _, listed := strings.Cut(line, "\t"); listed {
			names = append(names, strings.TrimSpace(name))
		}
		all.WriteString(line + "\n")
	}
	return nil, "", errors.New("the server has too many modules")
}
