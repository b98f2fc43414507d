package scan

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// Bounds of --passive, those of nuclei: larger files are left out, as are other names in folders.
const (
	maxStored       = 5 << 20
	storedExtension = ".txt"
)

// passive answers the requests of a scan from stored responses, and sends nothing. Each file of --target stands for a
// site: the engine asks for its page through dial, over a pipe. What is reported names the file instead.
type passive struct {
	files []string // by the number in their host's name
}

// storedHost ends the names that stand for files; no name on the internet does (RFC 6761).
const storedHost = ".stored.invalid"

// readPassive finds the files that the targets name: files, patterns, and folders with all below them. Without
// --passive there are none, and it returns nil.
func (f *scanFlags) readPassive(t *scanTargets) (*passive, error) {
	if !f.load.Allow.Passive {
		return nil, nil
	}
	f.oast.off = true
	if f.resume != "" {
		return nil, cli.Usagef("--resume: a passive scan sends nothing and needs none")
	}
	p, seen := new(passive), map[string]bool{}
	for _, name := range t.named {
		before := len(p.files)
		found, err := filepath.Glob(name)
		if err != nil || len(found) == 0 {
			found = []string{name}
		}
		for _, one := range found {
			if err := p.add(one, one == name, seen); err != nil {
				return nil, cli.Usagef("--target: %w", err)
			}
		}
		if len(p.files) == before {
			return nil, cli.Usagef("--target %s: there is no response in it; stored responses are files whose names end with %s",
				cli.Printable(name), storedExtension)
		}
	}
	t.named, t.targets = nil, nil
	for i := range p.files {
		t.targets = append(t.targets, p.target(i))
	}
	return p, nil
}

// add adds a file, or those in a folder whose names say that they are responses, each once.
func (p *passive) add(name string, named bool, seen map[string]bool) error {
	return filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() && (named && path == name || filepath.Ext(path) == storedExtension) &&
			!seen[path] {
			seen[path] = true
			p.files = append(p.files, path)
		}
		return nil
	})
}

func (p *passive) target(i int) string { return "http://" + strconv.Itoa(i) + storedHost }

// file is the file that a host stands for.
func (p *passive) file(host string) (string, bool) {
	number, ok := strings.CutSuffix(host, storedHost)
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(p.files) {
		return "", false
	}
	return p.files[i], true
}

// dial connects to the file that an address stands for: whatever is asked, the stored response is the answer.
func (p *passive) dial(_ context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	name, ok := p.file(host)
	if !ok {
		return nil, fmt.Errorf("%s: a passive scan contacts nobody", host)
	}
	s, err := readStored(name)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
			_, _ = far.Write(s.Response) // the engine closes when it has read enough
		}
	}()
	return near, nil
}

// configure makes an engine answer from the files. A nil passive does nothing, here and below.
func (p *passive) configure(c *engine.Config) {
	if p != nil {
		c.Dial, c.DialHelper, c.RateLimit, c.HostRate, c.Files = p.dial, nil, 0, 0, false
	}
}

// rename makes a report name the file.
func (p *passive) rename(t *engine.TargetReport) {
	if p == nil {
		return
	}
	if name, ok := p.file(strings.TrimPrefix(t.Target, "http://")); ok {
		t.Target, t.URL = name, ""
	}
}

// event makes an event name its file, with the request that is stored there.
func (p *passive) event(e *engine.Event) {
	if p == nil {
		return
	}
	name, ok := p.file(strings.TrimPrefix(e.Target, "http://"))
	if !ok {
		return
	}
	e.Target, e.MatchedAt, e.Host, e.Port, e.Path, e.IP = name, name, name, "", "", ""
	e.Request, e.CurlCommand = "", ""
	if s, err := readStored(name); err == nil {
		e.Request = engine.Clean(string(s.Request))
	}
}

// readStored reads a file that holds an HTTP message as text.
func readStored(name string) (recorded.Stored, error) {
	info, err := os.Stat(name)
	if err != nil {
		return recorded.Stored{}, err
	}
	if info.Size() >= maxStored {
		return recorded.Stored{}, fmt.Errorf("%s has %d bytes, at most %d are read", name, info.Size(), maxStored)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return recorded.Stored{}, err
	}
	s, err := recorded.ReadStored(text)
	if err != nil {
		err = fmt.Errorf("%s %w", name, err)
	}
	return s, err
}
