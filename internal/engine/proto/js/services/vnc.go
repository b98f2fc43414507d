package services

import (
	"crypto/des" //nolint:gosec // the protocol's cipher
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"slices"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// VNC is the module nuclei/vnc: the greeting of RFC 6143, and its login without and with a password.
func VNC(h *host.Host) *goja.Object {
	client := h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("vnc.VNCClient", nil, host.Methods{"Connect": h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) { return vncLogin(conn, a.Text(2)) })
		})}), nil
	})
	return h.Module(map[string]goja.Value{
		"VNCClient": client,
		"IsVNC": h.Func(h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) {
				got, err := h.Exchange(conn, nil)
				if err != nil {
					return nil, err
				}
				is, version := len(got) == 12 && string(got[:4]) == "RFB " && got[7] == '.' && got[11] == '\n', ""
				if is {
					version = string(got[4:11])
				}
				return host.Fields{{Name: "IsVNC", Value: is}, {Name: "Banner", Value: version}}, nil
			})
		})),
	})
}

const maxReason = 4096 // bytes of a server's reason

var errNoVNC = errors.New("the server does not speak VNC")

// vncLogin is whether the password is right; an error for a server that cannot say.
func vncLogin(conn net.Conn, password string) (bool, error) {
	version := make([]byte, 12)
	if _, err := io.ReadFull(conn, version); err != nil {
		return false, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(version), "RFB %03d.%03d\n", &major, &minor); err != nil || major < 3 {
		return false, errNoVNC
	}
	if major > 3 || minor >= 8 {
		minor = 8
	} else if minor != 7 {
		minor = 3
	}
	if _, err := fmt.Fprintf(conn, "RFB 003.%03d\n", minor); err != nil {
		return false, err
	}
	kind, err := vncSecurity(conn, minor)
	if err != nil {
		return false, err
	}
	if kind == vncPassword {
		challenge := make([]byte, 16)
		if _, err := io.ReadFull(conn, challenge); err != nil {
			return false, err
		}
		if _, err := conn.Write(vncResponse(challenge, password)); err != nil {
			return false, err
		}
	} else if minor < 8 {
		return true, nil // no password is asked for, and no result is sent
	}
	result := make([]byte, 4)
	if _, err := io.ReadFull(conn, result); err != nil {
		return false, err
	}
	return binary.BigEndian.Uint32(result) == 0, nil
}

const vncNone, vncPassword = 1, 2

// vncSecurity agrees on how to log in: without a password where that is offered.
func vncSecurity(conn net.Conn, minor int) (byte, error) {
	if minor == 3 {
		kind := make([]byte, 4)
		if _, err := io.ReadFull(conn, kind); err != nil {
			return 0, err
		}
		if k := binary.BigEndian.Uint32(kind); k == vncNone || k == vncPassword {
			return byte(k), nil
		} else if k == 0 {
			return 0, vncReason(conn)
		}
		return 0, errors.New("the server wants another login than a password")
	}
	count := make([]byte, 1)
	if _, err := io.ReadFull(conn, count); err != nil {
		return 0, err
	}
	if count[0] == 0 {
		return 0, vncReason(conn)
	}
	kinds := make([]byte, count[0])
	if _, err := io.ReadFull(conn, kinds); err != nil {
		return 0, err
	}
	for _, kind := range []byte{vncNone, vncPassword} {
		if slices.Contains(kinds, kind) {
			_, err := conn.Write([]byte{kind})
			return kind, err
		}
	}
	return 0, errors.New("the server wants another login than a password")
}

func vncReason(conn net.Conn) error {
	size := make([]byte, 4)
	if _, err := io.ReadFull(conn, size); err != nil {
		return err
	}
	reason := make([]byte, min(binary.BigEndian.Uint32(size), maxReason))
	n, _ := io.ReadFull(conn, reason)
	return fmt.Errorf("the server refuses: %s", reason[:n])
}

// vncResponse encrypts a challenge with the password, whose bits the protocol reads the other way round.
func vncResponse(challenge []byte, password string) []byte {
	key := make([]byte, 8)
	copy(key, password)
	for i, b := range key {
		key[i] = bits.Reverse8(b)
	}
	block, err := des.NewCipher(key) //nolint:gosec // see above
	if err != nil {
		return nil
	}
	out := make([]byte, 16)
	block.Encrypt(out, challenge)
	block.Encrypt(out[8:], challenge[8:])
	return out
}
