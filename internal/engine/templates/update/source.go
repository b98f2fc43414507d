// Package update brings sets of templates from elsewhere: folders, archives, URLs of archives, and git remotes.
//
// Open makes a source readable as a file system and trusts nothing in it: names that lead out of it and archives that
// are too large are refused, links are not followed. Replace puts such a set in the place of a folder (folder.go): it
// is written beside the folder, read by the engine, and exchanged with the folder in one step, so that a crash, a
// full disk or a bad archive leaves the old set whole. Compare says what an update changed.
package update

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Limits of a set: about ten times the largest public one.
const (
	MaxFiles    = 200_000
	MaxBytes    = 512 << 20 // of all files of a set
	maxArchive  = 256 << 20 // bytes of an archive, and of what a git remote sends
	maxHops     = 5         // redirects of a release's URL
	fetchWithin = 10 * time.Minute
)

// Source is where a set comes from.
type Source struct {
	// From is a folder, a zip or tar (.gz), the http or https URL of one, or a git remote: a URL that ends with .git or
	// begins with git+https://, ssh:// or file://, or user@host:path.
	From string
	// Ref is the branch, tag or commit of a git remote; empty: what its HEAD names.
	Ref string
	// Checksum is the SHA-256 that an archive must have, in hex, also after "sha256:"; empty: any.
	Checksum string
	// Tag is the name of the release; empty: taken from the URL, the archive's folder, or the commit.
	Tag string
	// Limit is how many bytes an archive may have, packed and unpacked, and a git remote may send; 0: the limits of sets.
	Limit int64
	// Anonymous: git has none of the settings and credentials of this machine, since others name the remote.
	Anonymous bool
}

// packed and unpacked are the most bytes of an archive.
func (s Source) packed() int64   { return cmp.Or(s.Limit, maxArchive) }
func (s Source) unpacked() int64 { return cmp.Or(s.Limit, MaxBytes) }

// Opened is a source that can be read.
type Opened struct {
	FS     fs.FS        // with the templates at its top
	Tag    string       // the release; empty when it is not known
	Commit string       // of a git remote, in hex
	Left   []string     // what was left out of an archive: links and other special files, "NAME: why"
	Close  func() error // frees what Open took
}

// Open makes a source readable. URLs are fetched through the guard, git over HTTP too. An error is Invalid, with the
// field "from", "ref" or "checksum", or Unavailable.
func Open(ctx context.Context, s Source, guard *netguard.Guard) (Opened, error) {
	if guard == nil {
		guard = new(netguard.Guard)
	}
	remote, isGit := gitRemote(s.From)
	u, err := url.Parse(s.From)
	isURL := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	if _, secret := password(s.From); secret {
		return Opened{}, errs.Field("from",
			"from holds a password, which would be stored and shown: let git's credential helper or an SSH key know it.")
	}
	switch {
	case isGit && s.Checksum != "":
		return Opened{}, errs.Field("checksum", "checksum is that of an archive: pin a git remote by the commit in ref.")
	case isGit:
		return openGit(ctx, remote, s, guard)
	case s.Ref != "":
		return Opened{}, errs.Field("ref", "ref is a branch, tag or commit of a git remote, and %s is none.", s.From)
	case isURL:
		return download(ctx, s, guard)
	}
	info, err := os.Stat(s.From)
	if err != nil {
		return Opened{}, errs.Field("from", "from: %v.", err)
	}
	if !info.IsDir() {
		return openArchive(ctx, s, s.From)
	}
	if s.Checksum != "" {
		return Opened{}, errs.Field("checksum", "checksum is that of an archive, and %s is a folder.", s.From)
	}
	root, err := os.OpenRoot(s.From) // no link leads out of it
	if err != nil {
		return Opened{}, errs.Field("from", "from: %v.", err)
	}
	return Opened{FS: root.FS(), Tag: s.Tag, Close: root.Close}, nil
}

// password is the password in a URL, if there is one.
func password(from string) (string, bool) {
	u, err := url.Parse(strings.TrimPrefix(from, "git+"))
	if err != nil || u.User == nil {
		return "", false
	}
	return u.User.Password()
}

// tagInURL finds the release in the URL of its archive.
var tagInURL = regexp.MustCompile(`/(?:tags|releases/download|archive)/(v?\d[^/]*?)(?:\.zip|\.tar\.gz|\.tgz|\.tar|/|$)`)

// download fetches an archive. Release pages redirect: unlike elsewhere, redirects are followed, each through the
// guard.
func download(ctx context.Context, s Source, guard *netguard.Guard) (Opened, error) {
	client := guard.Client(fetchWithin)
	at := s.From
	for range maxHops {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return Opened{}, unavailable("%s cannot be fetched: %v.", at, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return Opened{}, unavailable("%s cannot be fetched: %v.", at, err).Because(err)
		}
		if next := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && next != "" {
			resp.Body.Close()
			u, err := resp.Request.URL.Parse(next)
			if err != nil || resp.Request.URL.Scheme == "https" && u.Scheme != "https" {
				return Opened{}, unavailable("%s leads to %.200q, which is not followed.", at, next)
			}
			at = u.String()
			continue
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return Opened{}, unavailable("%s answers %d.", at, resp.StatusCode)
		}
		return save(ctx, s, resp.Body)
	}
	return Opened{}, unavailable("%s leads through more than %d redirects.", s.From, maxHops)
}

func unavailable(format string, args ...any) *errs.Error {
	return errs.New(errs.Unavailable, "source_unavailable", format, args...)
}

// save writes what is fetched to a temporary file and opens it.
func save(ctx context.Context, s Source, body io.Reader) (o Opened, err error) {
	file, err := os.CreateTemp("", "vedette-templates-*")
	if err != nil {
		return o, err
	}
	remove := func() error { return os.Remove(file.Name()) }
	n, err := io.Copy(file, io.LimitReader(body, s.packed()+1))
	if err = errors.Join(err, file.Close()); err == nil && n > s.packed() {
		err = tooManyBytes(s.packed())
	}
	if err == nil {
		if tag := tagInURL.FindStringSubmatch(s.From); tag != nil {
			s.Tag = cmp.Or(s.Tag, tag[1])
		}
		o, err = openArchive(ctx, s, file.Name())
	}
	if err != nil {
		return o, errors.Join(err, remove())
	}
	return o.then(remove), nil
}

// then makes Close do one thing more.
func (o Opened) then(more func() error) Opened {
	before := o.Close
	o.Close = func() error { return errors.Join(before(), more()) }
	return o
}

func tooManyBytes(most int64) error {
	return errs.Field("from", "from: the archive has more than %d bytes.", most)
}

// checkSum compares an archive, read from its beginning, with what the source says, and returns its size.
func (s Source) checkSum(file io.Reader) (size int64, err error) {
	digest := sha256.New()
	size, err = io.Copy(digest, io.LimitReader(file, s.packed()+1))
	if err != nil {
		return size, err
	}
	if size > s.packed() {
		return size, tooManyBytes(s.packed())
	}
	want := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s.Checksum)), "sha256:")
	if got := hex.EncodeToString(digest.Sum(nil)); want != "" && got != want {
		return size, errs.New(errs.Invalid, "digest_mismatch",
			"The archive's sha256 is %s, and not the one that was given. Nothing was imported.", got).At("checksum")
	}
	return size, nil
}
