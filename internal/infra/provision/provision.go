// Package provision keeps folders into which programs of people are installed: what the tools of an agent need, and
// the packages of a toolkit.
//
// A folder is filled once, by commands that run in package isolate, and is read-only to whatever uses it afterwards.
// The commands reach the hosts that the operator names for installations, and no others. A folder has at most 512 MB
// and 50,000 files. Folders belong to this process: they go when it ends, and the oldest of those that nobody uses go
// when there are more than 16.
package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Folders are those of this process.
type Folders struct {
	dial  func(ctx context.Context, network, addr string) (net.Conn, error) // nil: installations have no network
	slots chan struct{}                                                     // of programs that run at the same time

	mu   sync.Mutex
	root string // of all folders; made when it is needed
	kept map[string]*kept
}

// kept is a folder, or one that is about to be.
type kept struct {
	busy   chan struct{} // held by who installs, or looks
	folder string        // "": nothing is installed
	users  int
	used   time.Time
}

// Bounds.
const (
	MostTime = 10 * time.Minute // of an installation

	atOnce   = 4
	maxKept  = 16        // folders that nobody uses
	maxSize  = 512 << 20 // bytes of a folder
	maxFiles = 50_000    // of a folder
)

// New makes the service. hosts are what installations reach, as targets of a scope, and deny networks that they never
// reach. The error says which host is none.
func New(hosts []string, deny []netip.Prefix) (*Folders, error) {
	s := &Folders{slots: make(chan struct{}, atOnce), kept: map[string]*kept{}}
	if len(hosts) == 0 {
		return s, nil
	}
	var all []netguard.Target
	for _, text := range hosts {
		one, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no host: %w", text, err)
		}
		all = append(all, one)
	}
	scope, err := netguard.NewScope(all, netguard.Limits{Deny: deny})
	if err != nil {
		return nil, err
	}
	s.dial = scope.Dial
	return s, nil
}

// NetworkNote is a sentence for an installation that failed, where installations have no network; "" where they have.
func (s *Folders) NetworkNote() string {
	if s.dial != nil {
		return ""
	}
	return " Installations have no network on this server: its operator has named no hosts for them (install_hosts)."
}

// Close removes all folders. Nobody may use one any more.
func (s *Folders) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == "" {
		return nil
	}
	return remove(s.root)
}

// Hold returns the folder of a key, which fill fills when there is none; who asks for the same meanwhile waits. It
// stays until release is called. The error is that of fill, or of the context.
func (s *Folders) Hold(
	ctx context.Context, key string, fill func(ctx context.Context, w *Work) error,
) (folder string, release func(), err error) {
	k, err := s.hold(ctx, key)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		<-k.busy
		if err != nil {
			s.letGo(k)
		}
	}()
	if k.folder == "" {
		made, err := s.newFolder()
		if err != nil {
			return "", nil, err
		}
		inner, cancel := context.WithTimeoutCause(ctx, MostTime, sandbox.ErrRunTime)
		defer cancel()
		if err := fill(inner, &Work{folders: s, folder: made}); err != nil {
			return "", nil, errors.Join(err, remove(made))
		}
		s.mu.Lock()
		k.folder = made
		s.mu.Unlock()
	}
	return k.folder, sync.OnceFunc(func() { s.letGo(k) }), nil
}

// Has reports whether the folder of a key is filled.
func (s *Folders) Has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[key]
	return k != nil && k.folder != ""
}

// Busy reports whether the folder of a key is being filled.
func (s *Folders) Busy(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[key]
	return k != nil && k.folder == ""
}

// hold takes the folder of a key, when nobody else installs it or looks. letGo gives it back.
func (s *Folders) hold(ctx context.Context, key string) (*kept, error) {
	s.mu.Lock()
	k := s.kept[key]
	if k == nil {
		k = &kept{busy: make(chan struct{}, 1)}
		s.kept[key] = k
	}
	k.users++
	s.forget()
	s.mu.Unlock()
	select {
	case k.busy <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		s.letGo(k)
		return nil, context.Cause(ctx)
	}
}

func (s *Folders) letGo(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.users--
	k.used = time.Now()
	s.forget()
}

// forget removes folders that nobody uses, the oldest first, until maxKept are left.
func (s *Folders) forget() {
	var idle []string
	for key, k := range s.kept {
		switch {
		case k.users > 0:
		case k.folder == "":
			delete(s.kept, key)
		default:
			idle = append(idle, key)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return s.kept[a].used.Compare(s.kept[b].used) })
	for _, key := range idle[:max(0, len(idle)-maxKept)] {
		_ = remove(s.kept[key].folder) // what is left goes with the root
		delete(s.kept, key)
	}
}

// newFolder makes a folder that programs may write. Folders of others cannot be looked for from it: the one above can
// be entered, not read.
func (s *Folders) newFolder() (folder string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == "" {
		root, err := os.MkdirTemp(sandbox.Reachable(), "vedette-installed-*")
		if err != nil {
			return "", err
		}
		if err := os.Chmod(root, 0o711); err != nil { //nolint:gosec // the names in it are secret
			return "", err
		}
		s.root = root
	}
	if folder, err = os.MkdirTemp(s.root, "folder-*"); err != nil {
		return "", err
	}
	return folder, errors.Join(os.Chmod(folder, 0o700), sandbox.Give(folder)) //nolint:gosec // programs enter it
}

// remove removes a folder, also what its programs have closed.
func remove(folder string) error {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder
		}
		return nil
	})
	return os.RemoveAll(folder)
}

// Turn runs a program when fewer than four run. The error is one of package isolate.
func (s *Folders) Turn(ctx context.Context, c isolate.Command) (*isolate.Result, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return isolate.Run(ctx, c)
}
