package update

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// remote is a git remote: what git is given, and the one protocol that it may use.
type remote struct{ url, protocol string }

// shortSSH is git's short form of an SSH remote: user@host:path.
var shortSSH = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:]`)

// gitRemote reads a source as a git remote; other sources are archives and folders.
func gitRemote(from string) (remote, bool) {
	if shortSSH.MatchString(from) {
		return remote{from, "ssh"}, true
	}
	u, err := url.Parse(from)
	if err != nil {
		return remote{}, false
	}
	plain, marked := strings.CutPrefix(u.Scheme, "git+")
	switch plain {
	case "ssh", "file":
	case "https", "http":
		if !marked && !strings.HasSuffix(u.Path, ".git") {
			return remote{}, false
		}
	default:
		return remote{}, false
	}
	return remote{strings.TrimPrefix(from, "git+"), plain}, true
}

// refForm are the names of branches, tags and commits that are passed to git.
var refForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]*$`)

// openGit fetches one commit with the git program, without a working tree: no hook, filter or submodule of the remote
// runs, and what git archive writes is unpacked like any archive.
func openGit(ctx context.Context, r remote, s Source, guard *netguard.Guard) (o Opened, err error) {
	if s.Ref != "" && !refForm.MatchString(s.Ref) {
		return o, errs.Field("ref", "%.100q is not the name of a branch, a tag or a commit.", s.Ref)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return o, errs.Field("from", "from: git remotes need the program git, which is not installed here. Give the URL "+
			"of an archive instead, or install git.")
	}
	dir, err := os.MkdirTemp("", "vedette-templates-*")
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	g := git{dir: dir, most: s.packed(), env: append(environment(), "GIT_ALLOW_PROTOCOL="+r.protocol)}
	if s.Anonymous {
		g.env = append(g.env, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
			"GIT_ASKPASS=", "SSH_ASKPASS=", "NETRC=")
	}
	if strings.HasPrefix(r.protocol, "http") {
		w, err := newWay(ctx, guard)
		if err != nil {
			return o, err
		}
		defer w.close()
		g.way = w
		g.env = append(g.env, "no_proxy=", "NO_PROXY=")
		g.options = []string{"-c", "http.proxy=" + w.url()}
	}
	if _, err := g.run(ctx, "init", "--quiet", "--bare"); err != nil {
		return o, err
	}
	_, err = g.run(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", r.url,
		cmp.Or(s.Ref, "HEAD"))
	if err != nil {
		return o, err
	}
	commit, err := g.run(ctx, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
	if err != nil {
		return o, err
	}
	o.Commit = strings.TrimSpace(string(commit))
	packed, err := g.archive(ctx, o.Commit)
	if err != nil {
		return o, err
	}
	defer packed.Close()
	tag := cmp.Or(s.Tag, s.Ref, o.Commit[:min(12, len(o.Commit))])
	opened, err := openTar(ctx, Source{Tag: tag, Limit: s.Limit}, packed)
	opened.Commit = o.Commit
	return opened, err
}

// environment is ours without what points git at another repository.
func environment() []string {
	mine := []string{"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_OBJECT_DIRECTORY=", "GIT_COMMON_DIR=",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_NAMESPACE=", "GIT_PROTOCOL_FROM_USER=", "GIT_EXTERNAL_DIFF="}
	kept := slices.DeleteFunc(os.Environ(), func(one string) bool {
		return slices.ContainsFunc(mine, func(name string) bool { return strings.HasPrefix(one, name) })
	})
	return append(kept, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// git runs the git program in a bare repository of its own.
type git struct {
	dir     string
	most    int64 // bytes of the repository
	env     []string
	options []string
	way     *way // nil where git needs none
}

// maxSaid bounds what of git's messages is shown, in bytes.
const maxSaid = 2000

// run runs a command and returns what it printed. It is stopped when the repository grows beyond what an archive may
// have.
func (g *git) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, said := g.command(ctx, args...)
	var grown atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if sizeOf(g.dir) > g.most {
					grown.Store(true)
					cancel()
				}
			}
		}
	}()
	out, err := c.Output()
	cancel()
	<-done
	switch {
	case grown.Load():
		return nil, tooManyBytes(g.most)
	case err != nil:
		return nil, g.failed(args[0], said, err)
	}
	return out, nil
}

func (g *git) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	options := []string{"--git-dir=" + g.dir, "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.fsckObjects=true"}
	options = slices.Concat(options, g.options, args)
	c := exec.CommandContext(ctx, "git", options...) //nolint:gosec // the operator names the remote
	said := new(bytes.Buffer)
	c.Env, c.Dir, c.Stderr = g.env, g.dir, said
	c.WaitDelay = 5 * time.Second // for programs that git started and that outlive it
	return c, said
}

func (g *git) failed(what string, said *bytes.Buffer, err error) error {
	if g.way != nil {
		if refused := g.way.refused.Load(); refused != nil {
			return unavailable("The git remote cannot be reached: %v.", *refused).Because(*refused)
		}
	}
	text := strings.Join(strings.Fields(said.String()), " ")
	return unavailable("git %s failed: %s", what, errs.Clip(cmp.Or(text, err.Error()), maxSaid)).Because(err)
}

// archive is a commit's tree as a tar, in a file that Close removes.
func (g *git) archive(ctx context.Context, commit string) (*os.File, error) {
	// In a file: unpacking it then cannot hold git up, and its size is known.
	name := filepath.Join(g.dir, "set.tar")
	if _, err := g.run(ctx, "archive", "--format=tar", "--output="+name, commit); err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading what git wrote: %w", err)
	}
	return file, nil
}

// sizeOf is the number of bytes of the files in a folder; what disappears meanwhile does not count.
func sizeOf(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a temporary file that git has renamed
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
