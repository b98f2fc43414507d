package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

var (
	linked    = regexp.MustCompile(`(?i)(?:href|action|src|data-url)\s*=\s*["']?([^"'\s>]*(?:log-?_?in|sign-?_?in|log-?_?on|auth|account|session)[^"'\s>]*)`)
	called    = regexp.MustCompile("(?i)[\"'`](/[^\"'`\\s<>]*(?:login|signin|sign-in|auth|token|session)[^\"'`\\s<>]*)[\"'`]")
	scriptSrc = regexp.MustCompile(`(?i)<script[^>]+src\s*=\s*["']?([^"'\s>]+)`)
	tokenKey  = regexp.MustCompile(`(?i)^(?:.*_)?(?:access_?token|auth_?token|id_?token|token|jwt|bearer|authentication)$`)
	webToken  = regexp.MustCompile(`^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*$`) // a JSON Web Token, under any name
	notAccess = regexp.MustCompile(`(?i)refresh|^id`)
	otpField  = regexp.MustCompile(`(?i)otp|totp|mfa|2fa|one.?time|verification|passcode|^code$`)
)

// usualPages and usualCalls are where logins often are.
var (
	usualPages = []string{"/login", "/login.php", "/signin", "/user/login", "/users/login", "/account/login",
		"/accounts/login/",
		"/auth/login", "/users/sign_in", "/admin/login", "/admin", "/wp-login.php", "/login.jsp", "/login.html",
		"/Account/Login"}
	usualCalls = []string{"/api/login", "/api/auth/login", "/login", "/auth/login", "/api/v1/auth/login", "/api/v1/login",
		"/rest/user/login", "/users/login", "/api/users/login", "/users/v1/login", "/api/token", "/api/auth/signin",
		"/auth/token", "/identity/api/auth/login"}
)

// maxPages bounds how many pages are looked at for a form, maxCalls how many calls are tried.
const (
	maxPages = 40
	maxCalls = 16
	maxLinks = 16 // of the start page, whatever they say
)

// byForm logs in by a form and reports whether there was one.
func (s *Session) byForm(ctx context.Context, start *message.Response) (tried bool, err error) {
	pages := s.loginPages(start)
	for _, u := range pages[:min(len(pages), maxPages)] {
		page, err := s.get(ctx, u, s.User)
		if errors.Is(err, client.ErrBudget) || ctx.Err() != nil {
			return false, err
		}
		if err != nil || !page.IsHTML() {
			continue
		}
		for _, form := range sitemap.LoginForms(page) {
			if form.User.Component == "" && s.Account.User != "" {
				continue
			}
			tried = true
			// The address of a form may be set by a script, and take no form without it. One that would put the password into
			// an address is sent by a script.
			err := s.submit(ctx, form)
			if err == nil {
				s.page = u
			}
			if errors.Is(err, ErrRefused) && form.Request.Method == http.MethodGet {
				s.scripted = append(s.scripted, page)
				continue
			}
			if !errors.Is(err, errNoForm) {
				return true, err
			}
		}
	}
	if tried && len(s.scripted) == 0 {
		return true, ErrRefused
	}
	return false, nil
}

// errShort is an ErrRefused for a login that gave cookies and led to a page that asks for one.
var errShort = fmt.Errorf("%w, or it ended the session at once", ErrRefused)

// errNoForm is the error for an address that takes no form.
var errNoForm = errors.New("the address takes no form")

// loginPages are the addresses where a form may be, the likeliest first.
func (s *Session) loginPages(start *message.Response) (out []*url.URL) {
	seen := map[string]bool{}
	add := func(u *url.URL) {
		if u != nil && u.Host == s.starts[0].Host && !seen[u.String()] && !strings.Contains(strings.ToLower(u.Path),
			"logout") {
			seen[u.String()] = true
			out = append(out, u)
		}
	}
	if s.Login != nil {
		add(s.Login)
		return out
	}
	add(s.page) // of the login before
	add(start.Request.URL)
	for _, m := range linked.FindAllSubmatch(start.Body, 20) {
		if u, err := start.Request.URL.Parse(strings.ReplaceAll(string(m[1]), "&amp;", "&")); err == nil {
			u.Fragment = ""
			add(u)
		}
	}
	for _, u := range sitemap.LoginLinks(start) {
		add(u)
	}
	folder := s.starts[0].Path[:strings.LastIndexByte(s.starts[0].Path, '/')+1]
	for _, base := range slices.Compact([]string{folder, "/"}) {
		for _, path := range usualPages {
			add(&url.URL{Scheme: s.starts[0].Scheme, Host: s.starts[0].Host, Path: strings.TrimSuffix(base, "/") + path})
		}
	}
	// Words of logins are those of some languages; a page with a form for them is one in any.
	for _, u := range sitemap.PageLinks(start, maxLinks) {
		if !otherPath.MatchString(u.Path) {
			add(u)
		}
	}
	return out
}

// submit sends a form, with a one-time code if one is asked for, and fails if a login is asked for again.
func (s *Session) submit(ctx context.Context, form sitemap.LoginForm) error {
	before := s.cookieValues()
	r := form.Request
	if form.User.Component != "" {
		r = r.Put(form.User, s.Account.User)
	}
	r = r.Put(form.Password, s.Password)
	if s.Alter != nil {
		r = s.Alter(r)
	}
	answer, err := s.follow(ctx, r, s.User)
	if err != nil {
		return err
	}
	if answer.Status == http.StatusMethodNotAllowed || answer.Status == http.StatusNotFound {
		return errNoForm
	}
	if s.TOTP != "" {
		if answer, err = s.secondFactor(ctx, answer); err != nil {
			return err
		}
	}
	s.how, s.at = "the form of ", form.Request.URL.Path
	kept, isNew := map[string]string{}, false
	for name, value := range s.cookieValues() {
		s.Cookies[name] = true
		if before[name] == value {
			kept[name] = value
		}
		isNew = isNew || before[name] != value
	}
	s.Keep(kept)
	again := sitemap.LoginForms(answer)
	if answer.Status >= http.StatusBadRequest || len(again) > 0 && again[0].Password.Name == form.Password.Name ||
		len(before) == len(s.Cookies) && len(s.Cookies) == 0 && (len(again) > 0 || givesNothing(answer)) {
		if isNew && len(again) > 0 && answer.Request.Method == http.MethodGet {
			return errShort
		}
		return ErrRefused
	}
	to := answer.Request.URL
	if answer.Request.Method == http.MethodGet && to.Host == s.starts[0].Host && to.RawQuery == "" {
		s.Landed = to
	}
	return nil
}

// inAddress is a session in an address of a page.
var inAddress = regexp.MustCompile(`(?i)[;?&](?:jsessionid|phpsessid|aspsessionid|sid|sess\w{0,20}|token|auth)=`)

// givesNothing reports whether an answer to a form without cookies is a page that keeps no session in its addresses
// either, and leads nowhere: nobody is logged in by it.
func givesNothing(answer *message.Response) bool {
	return answer.Request.Method == http.MethodPost && answer.IsHTML() && !inAddress.Match(answer.Body)
}

// cookieValues are the user's cookies by name.
func (s *Session) cookieValues() map[string]string {
	out := map[string]string{}
	for _, u := range s.starts {
		for _, c := range s.User.Cookies(u) {
			out[c.Name] = c.Value
		}
	}
	return out
}

// byAPI logs in by a call of an API and reports whether one took a user and a password.
func (s *Session) byAPI(ctx context.Context, start *message.Response) (tried bool, err error) {
	for _, r := range s.calls(ctx, start) {
		answer, err := s.send(ctx, r, s.User)
		if errors.Is(err, client.ErrBudget) || ctx.Err() != nil {
			return false, err
		}
		if err != nil {
			continue
		}
		if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
			tried = true
			continue
		}
		if answer.Status >= http.StatusBadRequest || answer.Status < http.StatusOK {
			continue
		}
		token := tokenIn(answer)
		if token == "" {
			if isIn, err := s.byCookie(ctx, r, answer); err != nil {
				return false, err
			} else if !isIn {
				continue
			}
		}
		s.tookCall(r, token)
		return true, nil
	}
	if tried {
		return true, ErrRefused
	}
	return false, nil
}

// tookCall notes the call that has logged in, without its password, and the token that it gave, if it gave one.
func (s *Session) tookCall(r *message.Request, token string) {
	s.how, s.at = "the call ", r.URL.Path
	s.Call = r
	for _, p := range message.Places(r) {
		if p.Value == s.Password {
			s.Call = s.Call.Put(p, "x")
		}
	}
	for name := range s.cookieValues() {
		s.Cookies[name] = true
	}
	if token != "" {
		for _, u := range s.starts {
			s.SetHeader(u.Host, "Authorization", "Bearer "+token)
		}
	}
}

// byCookie reports whether a call without a token has logged in: the user has a cookie, and with another password the
// application answers otherwise.
func (s *Session) byCookie(ctx context.Context, r *message.Request, answer *message.Response) (bool, error) {
	if len(s.cookieValues()) == 0 {
		return false, nil
	}
	if answer.Status/100 == 2 && strings.Contains(answer.Type(), "json") {
		return true, nil
	}
	wrong := r
	for _, p := range message.Places(r) {
		if client.IsSecret(p.Name) {
			wrong = wrong.Put(p, rand.Text())
		}
	}
	refused, err := s.client.Send(ctx, wrong, client.Options{As: client.NewUser(""), Forced: true})
	if err != nil {
		return false, err
	}
	return refused.Status != answer.Status || refused.Header.Get("Location") != answer.Header.Get("Location") ||
		!bytes.Equal(refused.Body, answer.Body), nil
}

// tokenIn is the token in an answer to a login; "" if it has none.
func tokenIn(answer *message.Response) string {
	var value any
	if !strings.Contains(answer.Type(), "json") || json.Unmarshal(answer.Body, &value) != nil {
		return ""
	}
	return findToken(value, 0)
}

// calls are requests that may log in: those that are known or that scripts show, then usual ones.
func (s *Session) calls(ctx context.Context, start *message.Response) (out []*message.Request) {
	seen := map[string]bool{}
	add := func(r *message.Request) {
		if len(out) < maxCalls && r.URL.Host == s.starts[0].Host && !seen[r.Key()] {
			seen[r.Key()] = true
			out = append(out, r)
		}
	}
	for _, r := range s.Seeds {
		if filled, ok := s.fill(r); ok {
			add(filled)
		}
	}
	var texts []string
	for _, page := range append([]*message.Response{start}, s.scripted...) {
		texts = append(texts, string(page.Body))
		for _, m := range scriptSrc.FindAllSubmatch(page.Body, 10) {
			if u, err := page.Request.URL.Parse(string(m[1])); err == nil && u.Host == s.starts[0].Host {
				if answer, err := s.get(ctx, u, s.User); err == nil {
					texts = append(texts, string(answer.Body))
				}
			}
		}
	}
	for _, text := range texts { // with the names of their own
		for _, r := range sitemap.ScriptCalls(start.Request.URL, text) {
			if filled, ok := s.fill(r); ok {
				add(filled)
			}
		}
	}
	var paths []string
	if s.Login != nil {
		paths = append(paths, s.Login.RequestURI())
	}
	for _, text := range texts {
		for _, m := range called.FindAllStringSubmatch(text, 20) {
			paths = append(paths, m[1])
		}
	}
	for _, path := range append(paths, usualCalls...) {
		u, err := s.starts[0].Parse(path)
		if err != nil {
			continue
		}
		add(s.call(u))
	}
	return out
}

// call is a login in JSON. An address of mail is a name as well, and applications read the member that they know.
func (s *Session) call(u *url.URL) *message.Request {
	r := message.From(http.MethodPost, u)
	r.Header.Set("Content-Type", "application/json")
	r.Body, _ = json.Marshal(map[string]string{"username": s.Account.User, "email": s.Account.User, "password": s.Password}) //nolint:errchkjson // texts always are JSON
	return r
}

// loginPath are words of addresses of logins, and otherPath of those that take a user and a password for something
// else.
var (
	loginPath = regexp.MustCompile(`(?i)log-?_?[io]n|sign-?_?in|auth|token|session|/enter|/access`)
	otherPath = regexp.MustCompile(`(?i)regist|sign-?_?up|reset|forgot|change|update|delete|create|invite|passw|/users?$|/members?$` +
		`|enrol|enlist|inscri|inschrij|cadastr|rejestr|rekister|tilmeld|kay[iı]t|daftar`)
	userField = regexp.MustCompile(`(?i)user|mail|login|handle|nick|account|member|customer|person|phone|^name$|^uid$|identif`)
)

// fill is a known request with the user and the password, if it takes both and logs in: its address says so, or it
// takes nothing else.
func (s *Session) fill(r *message.Request) (*message.Request, bool) {
	if r.Method != http.MethodPost {
		return nil, false
	}
	var user, password, others []message.Place
	for _, p := range message.Places(r) {
		switch {
		case p.Component != message.Body || p.Key:
		case client.IsSecret(p.Name):
			password = append(password, p)
		case userField.MatchString(p.Name):
			user = append(user, p)
		default:
			others = append(others, p)
		}
	}
	if len(user) == 0 && len(others) == 1 { // under a name of its own
		user, others = others, nil
	}
	isPair := len(user) == 1 && len(password) == 1 && len(others) == 0 && !otherPath.MatchString(r.URL.Path)
	if len(user) == 0 || len(password) != 1 || !isPair && !loginPath.MatchString(r.URL.Path) {
		return nil, false
	}
	out := r.Put(password[0], s.Password)
	for _, p := range user {
		out = out.Put(p, s.Account.User)
	}
	return out, true
}

// findToken is the token in an answer to a login; "" if it has none.
func findToken(value any, depth int) string {
	object, ok := value.(map[string]any)
	if !ok || depth > 4 {
		return ""
	}
	inner := ""
	for key, v := range object {
		text, isText := v.(string)
		if isText && tokenKey.MatchString(key) && len(text) >= 16 {
			return text
		}
		if isText && webToken.MatchString(text) && !notAccess.MatchString(key) {
			inner = text
		}
		if found := findToken(v, depth+1); found != "" {
			inner = found
		}
	}
	return inner
}
