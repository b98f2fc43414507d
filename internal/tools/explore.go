package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/pause"
)

type explore struct{ *Kit }

// exploreOutput is for scan.
type exploreOutput struct {
	Pages      []string `json:"pages"`    // with a success status, without queries, without the targets
	WithParams []string `json:"places"`   // with parameters, one for each path and set of names
	Requests   int64    `json:"requests"` // to targets
}

const (
	exploredPages      = 30 // of one site
	exploredWithParams = 40 // addresses with parameters of one site
	exploredAtOnce     = 8  // sites
)

// The tags of templates for more than the targets.
const (
	linkedTag = "linked" // for linked pages
	injectTag = "inject" // for their parameters
)

func (explore) Name() string { return agent.Explore }

// Call reads sites. It may be repeated.
func (x explore) Call(ctx context.Context, input json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	_, alive, err := aliveTargets(input)
	if err != nil {
		return agent.Result{}, err
	}
	if len(withTag(x.chosen(), linkedTag))+len(withTag(x.chosen(), injectTag)) == 0 {
		return agent.Result{}, nil
	}
	before, reserve := x.scope.Total(), x.scope.Left()/4*3
	sites := make([]crawledSite, len(alive))
	limit := exploredAtOnce
	if x.Plan.RateLimit > 0 {
		limit = 1
	}
	forEach(alive, limit, emit, func(i int) { sites[i] = x.walk(ctx, alive[i], reserve) })
	out := exploreOutput{Pages: []string{}, WithParams: []string{}, Requests: x.scope.Total() - before}
	for _, s := range sites {
		out.Pages = append(out.Pages, s.pages...)
		out.WithParams = append(out.WithParams, slices.Sorted(maps.Values(s.withParams))...)
	}
	output, err := json.Marshal(out)
	if err != nil {
		return agent.Result{}, err
	}
	words := ""
	if len(out.Pages)+len(out.WithParams) > 0 {
		words = fmt.Sprintf("Pages that are linked to: %d, addresses with parameters: %d.", len(out.Pages),
			len(out.WithParams))
	}
	return agent.Result{Output: output, Summary: words}, context.Cause(ctx)
}

type crawledSite struct {
	start      *url.URL
	pages      []string
	withParams map[string]string // address by path and parameter names
	queue      []*url.URL
	seen       map[string]bool // paths
}

// walk reads the pages of a target, the nearest first. Without a scheme it tries the likelier one, then the other.
// reserve is the part of the budget to leave.
func (x explore) walk(ctx context.Context, target string, reserve int64) crawledSite {
	s := crawledSite{withParams: map[string]string{}, seen: map[string]bool{}}
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
	for _, f := range formsOf(page, answer.Body) {
		if f.posts {
			posted[f.address.Path] = true
		} else {
			s.note(page, f.address)
		}
	}
	for _, link := range links(page, answer) {
		u, err := url.Parse(link)
		if err == nil && (!posted[u.Path] || u.RawQuery != "") {
			s.note(page, u)
		}
	}
	return answer.Status != http.StatusBadRequest
}

// unsafeLink finds words of links that end a session or change something.
var unsafeLink = regexp.MustCompile(`(?i)(?:^|[/?&=_.-])(?:log-?_?out|log-?_?off|sign-?_?out|delete|remove|destroy|erase|unsubscribe|cancel|reset|drop|purge|revoke|disable|shutdown|restart|uninstall|install|buy|checkout|pay|confirm|approve|add)(?:$|[/?&=_.-])`)

// mediaFile is the name of a file without links.
var mediaFile = regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|svg|ico|webp|css|woff2?|ttf|eot|mp[34]|webm|avi|pdf|zip|gz|tgz|rar|7z|iso|exe|dmg|docx?|xlsx?|pptx?)$`)

// note stores an address: in withParams if it has parameters, and in the queue if its path is new.
func (s *crawledSite) note(page, u *url.URL) {
	if u.Path == "" {
		u.Path = "/"
	}
	if u.Host != page.Host || u.Scheme != page.Scheme || unsafeLink.MatchString(u.RequestURI()) ||
		mediaFile.MatchString(u.Path) {
		return
	}
	query := u.Query()
	key := u.Path + "?" + strings.Join(slices.Sorted(maps.Keys(query)), "&")
	if len(query) > 0 && len(s.withParams) < exploredWithParams && s.withParams[key] == "" {
		s.withParams[key] = u.String()
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

type form struct {
	address *url.URL
	posts   bool
}

var (
	formShape  = regexp.MustCompile(`(?is)<form\b([^>]*)>(.*?)(?:</form>|\z)`)
	fieldShape = regexp.MustCompile(`(?is)<(?:input|textarea|select)\b([^>]*)>(?:\s*<option\b([^>]*)>)?`)
	attrShape  = regexp.MustCompile(`(?is)([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
)

// maxFields bounds the forms of a page and the fields of a form.
const maxFields = 50

// formsOf are the forms of a page. A field without a value is sent as 1.
func formsOf(page *url.URL, body []byte) (out []form) {
	for _, m := range formShape.FindAllSubmatch(body, maxFields) {
		a := attributes(m[1])
		address, err := page.Parse(a["action"])
		if err != nil {
			continue
		}
		f := form{address: address, posts: strings.EqualFold(a["method"], http.MethodPost)}
		query := url.Values{}
		for _, field := range fieldShape.FindAllSubmatch(m[2], maxFields) {
			named := attributes(field[1])
			if named["name"] != "" && !slices.Contains([]string{"submit", "button", "file", "password"},
				strings.ToLower(named["type"])) {
				query.Set(named["name"], cmp.Or(named["value"], attributes(field[2])["value"], "1"))
			}
		}
		if !f.posts {
			address.RawQuery, address.Fragment = query.Encode(), ""
		}
		out = append(out, f)
	}
	return out
}

func attributes(tag []byte) map[string]string {
	out := map[string]string{}
	for _, m := range attrShape.FindAllSubmatch(tag, maxFields) {
		out[strings.ToLower(string(m[1]))] = html.UnescapeString(string(slices.Concat(m[2], m[3], m[4])))
	}
	return out
}
