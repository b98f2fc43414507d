package scan

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Limits of what is fetched.
const (
	maxRemote     = 1000 // templates
	maxRemoteList = 1 << 20
	remoteTimeout = 30 * time.Second
)

// remoteFlags name templates and workflows by URL.
type remoteFlags struct {
	templates, workflows []string
	trusted              []string // hosts, with their ports where these are not the scheme's
}

// remote fetches templates of trusted hosts into a folder.
type remote struct {
	remoteFlags
	client *http.Client
	folder string
	count  int
}

// fetch fetches what --template-url and --workflow-url name and adds it to --templates and --workflows; remove removes
// it. A URL that does not end as a template does is that of a list of URLs.
func (f *scanFlags) fetch(ctx context.Context) (remove func(), err error) {
	remove = func() {}
	if len(f.remote.templates)+len(f.remote.workflows) == 0 {
		return remove, nil
	}
	if f.proxy != "" || os.Getenv("VEDETTE_PROXY") != "" {
		return remove, cli.Usagef("--template-url: templates are not fetched through --proxy: fetch them first")
	}
	// A name may lead to public addresses only, whoever answers for it; an address that is trusted by itself may be any.
	guard := &netguard.Guard{}
	for _, host := range f.remote.trusted {
		u := url.URL{Host: host}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			guard.Allow = append(guard.Allow, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	r := remote{remoteFlags: f.remote, client: guard.Client(remoteTimeout)}
	if r.folder, err = os.MkdirTemp("", "vedette-templates-*"); err != nil {
		return remove, err
	}
	remove = func() { _ = os.RemoveAll(r.folder) }
	for flag, one := range map[string]struct{ from, to *[]string }{
		"template-url": {&f.remote.templates, &f.templates}, "workflow-url": {&f.remote.workflows, &f.workflows},
	} {
		for _, at := range *one.from {
			files, err := r.all(ctx, at)
			if err != nil {
				remove()
				return func() {}, cli.Usagef("--%s: %s", flag, cli.Printable(cli.Plain(err)))
			}
			*one.to = append(*one.to, files...)
		}
	}
	return remove, nil
}

// all fetches a template, or those of a list.
func (r *remote) all(ctx context.Context, at string) (files []string, err error) {
	if isTemplateURL(at) {
		file, err := r.template(ctx, at)
		return []string{file}, err
	}
	text, err := r.get(ctx, at, maxRemoteList)
	if err != nil {
		return nil, err
	}
	lines, err := cli.Lines(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if !isTemplateURL(line) {
			return nil, fmt.Errorf("%s: %.80q is not the URL of a template: a list has one a line", at, line)
		}
		file, err := r.template(ctx, line)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func isTemplateURL(at string) bool {
	u, err := url.Parse(at)
	return err == nil && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(u.Path)))
}

// template fetches one template into a file of its own.
func (r *remote) template(ctx context.Context, at string) (string, error) {
	if r.count++; r.count > maxRemote {
		return "", fmt.Errorf("there are more than %d templates", maxRemote)
	}
	text, err := r.get(ctx, at, syntax.MaxBytes)
	if err != nil {
		return "", err
	}
	name := strings.Map(func(c rune) rune {
		if c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, path.Base(at[:min(len(at), maxRemoteName)]))
	if u, err := url.Parse(at); err == nil {
		name = fmt.Sprintf("%d-%s%s", r.count, strings.TrimSuffix(name, path.Ext(name)), strings.ToLower(path.Ext(u.Path)))
	}
	file := filepath.Join(r.folder, name)
	return file, os.WriteFile(file, text, 0o600)
}

// maxRemoteName bounds what a file's name takes of a URL.
const maxRemoteName = 150

// get fetches a URL of a trusted host.
func (r *remote) get(ctx context.Context, at string, limit int64) ([]byte, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.80q is not an http or https URL", at)
	}
	if !slices.ContainsFunc(r.trusted, func(host string) bool { return strings.EqualFold(host, u.Host) }) {
		return nil, fmt.Errorf("%s is not trusted: name it with --remote-template-domain", u.Host)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the answer is %s", at, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: it has more than %d bytes", at, limit)
	}
	return text, err
}
