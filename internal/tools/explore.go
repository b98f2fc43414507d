package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/pause"
)

type explore struct{ *Kit }

// exploreOutput is for scan.
type exploreOutput struct {
	Pages    []string `json:"pages"`    // with a success status, without queries, without the targets
	Requests int64    `json:"requests"` // to targets
}

const (
	exploredPages  = 30 // of one site
	exploredAtOnce = 8  // sites
)

// The tags of templates for more than the targets.
const (
	linkedTag = "linked" // for linked pages
	injectTag = "inject" // for parameters: the step webtest tests those, and more thoroughly
)

func (explore) Name() string { return agent.Explore }

// Call reads sites. It may be repeated.
func (x explore) Call(ctx context.Context, input json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	_, alive, err := aliveTargets(input)
	if err != nil {
		return agent.Result{}, err
	}
	if len(withTag(x.chosen(), linkedTag)) == 0 {
		return agent.Result{}, nil
	}
	before, reserve := x.scope.Total(), x.scope.Left()/4*3
	sites := make([]crawledSite, len(alive))
	limit := exploredAtOnce
	if x.Plan.RateLimit > 0 {
		limit = 1
	}
	forEach(alive, limit, emit, func(i int) { sites[i] = x.walk(ctx, alive[i], reserve) })
	out := exploreOutput{Pages: []string{}, Requests: x.scope.Total() - before}
	for _, s := range sites {
		out.Pages = append(out.Pages, s.pages...)
	}
	output, err := json.Marshal(out)
	if err != nil {
		return agent.Result{}, err
	}
	words := ""
	if len(out.Pages) > 0 {
		words = fmt.Sprintf("Pages that are linked to: %d.", len(out.Pages))
	}
	return agent.Result{Output: output, Summary: words}, context.Cause(ctx)
}

type crawledSite struct {
	start *url.URL
	pages []string
	queue []*url.URL
	seen  map[string]bool // paths
}

// walk reads the pages of a target, the nearest first. Without a scheme it tries the likelier one, then the other.
// reserve is the part of the budget to leave.
func (x explore) walk(ctx context.Context, target string, reserve int64) crawledSite {
	s := crawledSite{seen: map[string]bool{}}
	parsed, err := targets.Parse(target)
	if err != nil {
		return s
	}
	addresses := []string{parsed.URL()}
	if !strings.Contains(target, "://") {
		other := "https://"
		if strings.HasPrefix(parsed.URL(), other) {
			other = "http://"
		}
		addresses = append(addresses, other+target)
	}
	for _, text := range addresses {
		if s.start, err = url.Parse(text); err != nil {
			return s
		}
		s.start.Path = cmp.Or(s.start.Path, "/")
		s.queue, s.seen[s.start.Path] = nil, true
		s.note(s.start, s.start)
		if s.read(ctx, x, s.start) {
			break
		}
	}
	for reads := 1; len(s.queue) > 0 && reads < exploredPages && ctx.Err() == nil && x.scope.Left() > reserve; reads++ {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.read(ctx, x, next)
	}
	return s
}

// read fetches a page and stores its links. It reports whether the server understands the scheme.
func (s *crawledSite) read(ctx context.Context, x explore, page *url.URL) bool {
	x.pause(ctx)
	answer, err := x.web.send(ctx, webRequest{Method: http.MethodGet, URL: page.String()})
	if err != nil {
		return false
	}
	if answer.Status/100 == 2 && page.Path != s.start.Path {
		s.pages = append(s.pages, (&url.URL{Scheme: page.Scheme, Host: page.Host, Path: page.Path}).String())
	}
	posted := map[string]bool{}
	for _, m := range formAction.FindAllSubmatch(answer.Body, maxLinks) {
		if u, err := page.Parse(html.UnescapeString(string(m[1]))); err == nil {
			posted[u.Path] = true
		}
	}
	for _, link := range links(page, answer) {
		if u, err := url.Parse(link); err == nil && !posted[u.Path] {
			s.note(page, u)
		}
	}
	return answer.Status != http.StatusBadRequest
}

// unsafeLink finds words of links that end a session or change something.
var unsafeLink = regexp.MustCompile(`(?i)(?:^|[/?&=_.-])(?:log-?_?out|log-?_?off|sign-?_?out|delete|remove|destroy|erase|unsubscribe|cancel|reset|drop|purge|revoke|disable|shutdown|restart|uninstall|install|buy|checkout|pay|confirm|approve|add)(?:$|[/?&=_.-])`)

// formAction finds where forms lead: the step webtest sends them.
var formAction = regexp.MustCompile(`(?is)<form\b[^>]*\baction\s*=\s*["']?([^"'\s>]+)`)

// mediaFile is the name of a file without links.
var mediaFile = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|svg|ico|webp|css|woff2?|ttf|eot|mp[34]|webm|avi|pdf|zip|gz|tgz|rar|7z|iso|exe|dmg|docx?|xlsx?|pptx?)$`)

// note queues an address if its path is new.
func (s *crawledSite) note(page, u *url.URL) {
	if u.Path == "" {
		u.Path = "/"
	}
	if u.Host != page.Host || u.Scheme != page.Scheme || unsafeLink.MatchString(u.RequestURI()) ||
		mediaFile.MatchString(u.Path) {
		return
	}
	if !s.seen[u.Path] && len(s.seen) < maxLinks {
		s.seen[u.Path] = true
		s.queue = append(s.queue, u)
	}
}

// pause keeps to the plan's rate.
func (x explore) pause(ctx context.Context) {
	if x.Plan.RateLimit > 0 {
		_ = pause.For(ctx, time.Duration(float64(time.Second)/x.Plan.RateLimit))
	}
}
