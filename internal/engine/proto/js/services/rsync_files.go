package services

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/md4" //nolint:gosec,staticcheck // what the protocol signs challenges with

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Bounds of the list of a module's files.
const (
	maxFiles = 100_000
	maxPath  = 4096
)

// What the first byte of a message of the server is.
const (
	rsyncData      = 7
	rsyncTransfer  = 8  // an error of one file
	rsyncError     = 10 // the end
	rsyncMaxNotice = 1 << 16
)

// What the flags of an entry say.
const (
	sameMode = 0x02
	sameName = 0x20 // it begins as the one before
	longName = 0x40
	sameTime = 0x80
)

const (
	modeKind = 0o170000
	modeLink = 0o120000
)

// rsyncLogin are the name and the password for a module.
type rsyncLogin struct{ module, user, password string }

// rsyncFiles asks a daemon for the files of a module, in the protocol's version 27, which every daemon speaks; said are
// the lines that it sent before. keep counts what is kept.
func rsyncFiles(conn net.Conn, login rsyncLogin, keep func(n int) error) (paths []string, said string, err error) {
	if strings.ContainsAny(login.module+login.user, "\r\n") || login.module == "" {
		return nil, "", fmt.Errorf("%.80q is no name of a module", login.module)
	}
	in := bufio.NewReader(conn)
	if _, err := fmt.Fprintf(conn, "@RSYNCD: 27.0\n%s\n", login.module); err != nil {
		return nil, "", err
	}
	if said, err = rsyncOpen(conn, in, login); err != nil {
		return nil, said, err
	}
	// The path follows the name, then come the end of the arguments and that of the list of exclusions, which is empty.
	arguments := fmt.Sprintf("--server\n--sender\n-l\n-p\n-r\n-t\n.\n%s/.\n\n", login.module)
	if _, err := conn.Write(append([]byte(arguments), 0, 0, 0, 0)); err != nil {
		return nil, said, err
	}
	if _, err := io.ReadFull(in, make([]byte, 4)); err != nil { // the seed of checksums
		return nil, said, fmt.Errorf("the server takes no request: %w", err)
	}
	paths, err = rsyncList(bufio.NewReader(&rsyncMessages{in: in}), keep)
	return paths, said, err
}

// rsyncOpen reads until the module is open, and logs in where the server wants that.
func rsyncOpen(conn net.Conn, in *bufio.Reader, login rsyncLogin) (said string, err error) {
	var all strings.Builder
	for n := range maxModules {
		raw, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return all.String(), errors.New("a line of the server is too long")
		}
		if err != nil {
			return all.String(), fmt.Errorf("the module is not opened: %w", err)
		}
		line := strings.TrimRight(string(raw), "\r\n")
		rest, command := strings.CutPrefix(line, "@RSYNCD:")
		challenge, asks := strings.CutPrefix(strings.TrimSpace(rest), "AUTHREQD ")
		switch {
		case n == 0 && !command:
			return "", errors.New("the server does not speak rsync")
		case n == 0:
		case command && strings.TrimSpace(rest) == "OK":
			return all.String(), nil
		case command && asks:
			sum := md4.New() //nolint:gosec // see above
			_, _ = io.WriteString(sum, "\x00\x00\x00\x00"+login.password+challenge)
			if _, err := fmt.Fprintf(conn, "%s %s\n", login.user, base64.RawStdEncoding.EncodeToString(sum.Sum(nil))); err != nil {
				return all.String(), err
			}
		case command, strings.HasPrefix(line, "@ERROR"):
			return all.String(), fmt.Errorf("the module is not opened: %.200s", line)
		default: // a message of the day
			all.WriteString(line + "\n")
		}
	}
	return all.String(), errors.New("the server has too much to say")
}

// rsyncMessages is the data in the messages of a server.
type rsyncMessages struct {
	in   io.Reader
	left int // of the message
}

// Read implements io.Reader.
func (r *rsyncMessages) Read(b []byte) (int, error) {
	for r.left == 0 {
		var head [4]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return 0, err
		}
		size := int(binary.LittleEndian.Uint32(head[:]) & 0xffffff)
		kind := head[3]
		if kind == rsyncData {
			r.left = size
			continue
		}
		if size > rsyncMaxNotice {
			return 0, fmt.Errorf("a message of %d bytes is too long", size)
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(r.in, text); err != nil {
			return 0, err
		}
		if kind == rsyncError || kind == rsyncTransfer {
			return 0, fmt.Errorf("the server says %.200q", strings.TrimSpace(string(text)))
		}
	}
	n, err := r.in.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

// rsyncList reads a list of files up to its end.
func rsyncList(in *bufio.Reader, keep func(n int) error) ([]string, error) {
	paths, last, mode := []string{}, "", uint32(0)
	for {
		flags, err := in.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("the list ends early: %w", err)
		}
		if flags == 0 {
			slices.Sort(paths)
			return paths, nil
		}
		if len(paths) == maxFiles {
			return nil, fmt.Errorf("the module has more than %d files", maxFiles)
		}
		if last, err = rsyncPath(in, flags, last); err == nil {
			mode, err = rsyncAttributes(in, flags, mode)
		}
		if err == nil {
			err = keep(len(last))
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, last)
	}
}

// rsyncPath reads the path of an entry.
func rsyncPath(in *bufio.Reader, flags byte, last string) (string, error) {
	var same, size uint32
	if flags&sameName != 0 {
		n, err := in.ReadByte()
		if err != nil {
			return "", err
		}
		same = uint32(n)
	}
	if flags&longName != 0 {
		n, err := rsyncNumber(in)
		if err != nil {
			return "", err
		}
		size = n
	} else {
		n, err := in.ReadByte()
		if err != nil {
			return "", err
		}
		size = uint32(n)
	}
	if int(same) > len(last) || size > maxPath || same+size > maxPath {
		return "", errors.New("a path of the list cannot be understood")
	}
	rest := make([]byte, size)
	if _, err := io.ReadFull(in, rest); err != nil {
		return "", err
	}
	return last[:same] + string(rest), nil
}

// rsyncAttributes reads what follows a path, and returns the mode; that of the entry before is one that is not sent.
func rsyncAttributes(in *bufio.Reader, flags byte, mode uint32) (uint32, error) {
	size, err := rsyncNumber(in)
	if err == nil && size == 1<<32-1 { // a large one follows
		_, err = in.Discard(8)
	}
	if err == nil && flags&sameTime == 0 {
		_, err = rsyncNumber(in)
	}
	if err == nil && flags&sameMode == 0 {
		mode, err = rsyncNumber(in)
	}
	if err != nil || mode&modeKind != modeLink {
		return mode, err
	}
	if size, err = rsyncNumber(in); err == nil && size > maxPath {
		err = errors.New("the target of a link is too long")
	}
	if err == nil {
		_, err = in.Discard(int(size))
	}
	return mode, err
}

func rsyncNumber(in io.Reader) (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(in, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// listFiles is ListFilesInModule(host, port, user, password, module).
func listFiles(h *host.Host) host.Method {
	return h.Waits(func(a *host.Args) (any, error) {
		return h.Ask(a, 0, func(conn net.Conn) (any, error) {
			paths, said, err := rsyncFiles(conn, rsyncLogin{a.Text(4), a.Text(2), a.Text(3)}, h.Spend)
			if err != nil {
				return nil, err
			}
			return host.Fields{
				{Name: "Modules", Value: []string{}}, {Name: "Files", Value: paths}, {Name: "Output", Value: said},
			}, nil
		})
	})
}
