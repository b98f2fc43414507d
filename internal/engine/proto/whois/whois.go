// Package whois asks who has registered a domain, an address or a network (template language 3.5): over RDAP, and over
// WHOIS (RFC 3912) for registries without it.
package whois

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/openrdap/rdap"
	"github.com/openrdap/rdap/bootstrap"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	wire "github.com/vedette-sec/vedette/internal/infra/whois"
)

const (
	maxAnswer = 1 << 20   // bytes
	maxHead   = 256 << 10 // bytes of the header of an answer
	maxCommas = 20_000    // of an answer of RDAP: each may part two objects of hundreds of bytes

	// memoryFactor is how many bytes one of an answer takes once it is read: of RDAP, as objects of many parts.
	memoryFactor = 32
)

// Probe is a compiled block.
type Probe struct {
	query  dsl.Text
	server *url.URL // nil: that of the registry
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.Whois) (*Probe, error) {
	if s.Query == "" {
		return nil, syntax.Fault(file, s.Line, 0, "whois.query", "a question needs a query, such as \"{{Host}}\"")
	}
	p := &Probe{query: dsl.Parse(s.Query)}
	if s.Server != "" {
		u, err := url.Parse(s.Server)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, syntax.Fault(file, s.Line, 0, "whois.server", "%q is no http or https URL", s.Server)
		}
		p.server = u
	}
	return p, nil
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return 1 }

// Names implements proto.Probe.
func (p *Probe) Names() []string { return proto.Names(p.query) }

// Run implements proto.Probe.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	vars := env.Vars(rawurl.URL{Host: env.Target.Host})
	query, err := p.query.Render(vars)
	if err != nil {
		return err
	}
	end, err := env.Begin(ctx, "whois")
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, 3*env.Timeout)
	defer cancel()
	share := membudget.Process().Share()
	defer share.Release() // operators see the reply a little longer, which the next question waits for
	fields, text, err := p.rdap(ctx, env, share, query)
	if err != nil && p.server == nil && !refused(err) && ctx.Err() == nil {
		if old, answer, oldErr := whois(ctx, env, share, query); oldErr == nil {
			fields, text, err = old, answer, nil
		}
	}
	if err != nil {
		return err
	}
	r := &proto.Reply{Env: vars, Fields: fields, Host: query, Response: text}
	fields["type"], fields["host"], fields["response"] = "whois", query, text
	found(r)
	return ctx.Err()
}

// refused reports whether a registry has answered: there is no such object.
func refused(err error) bool {
	e, ok := errors.AsType[*rdap.ClientError](err)
	return ok && e.Type == rdap.ObjectDoesNotExist
}

// rdap asks over RDAP. The fields of a domain are named as WHOIS does.
func (p *Probe) rdap(
	ctx context.Context, env *proto.Env, share *membudget.Share, query string,
) (map[string]any, string, error) {
	dial := env.DialHelper
	if p.server != nil {
		dial = env.Dial // a server of the template is no helper of the operator
	}
	transport := &http.Transport{DialContext: dial, MaxResponseHeaderBytes: maxHead}
	defer transport.CloseIdleConnections()
	over := &http.Client{Transport: limited{transport, share}, Timeout: 3 * env.Timeout}
	client := rdap.Client{HTTP: over, Bootstrap: &bootstrap.Client{HTTP: over}}
	request := rdap.NewAutoRequest(query)
	request.Server = p.server
	answer, err := client.Do(request.WithContext(ctx))
	if err != nil {
		return nil, "", reason(answer, err)
	}
	fields := map[string]any{}
	var body any = answer.Object
	if request.Type == rdap.DomainRequest {
		style := answer.ToWhoisStyleResponse()
		for name, values := range style.Data {
			fields[strings.ToLower(name)] = strings.Join(values, ",")
		}
		body = style
	}
	text, err := json.Marshal(body)
	return fields, string(text), err
}

// reason is why a question failed: what the last server did, which the library keeps beside its error.
func reason(answer *rdap.Response, err error) error {
	if answer == nil || len(answer.HTTP) == 0 {
		return err
	}
	last := answer.HTTP[len(answer.HTTP)-1].Error
	if failed, ok := errors.AsType[*url.Error](last); ok {
		last = failed.Err // its URL is long
	}
	return cmp.Or(last, err)
}

// limited bounds the bodies of answers, and counts them.
type limited struct {
	http.RoundTripper

	share *membudget.Share
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{&parts{l.share.Reader(r.Context(), io.LimitReader(answer.Body, maxAnswer), memoryFactor*maxAnswer), 0}, answer.Body}
	}
	return answer, err
}

// parts reads what has no more than maxCommas commas.
type parts struct {
	io.Reader

	commas int
}

// Read implements io.Reader.
func (p *parts) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.commas += bytes.Count(b[:n], []byte(",")); p.commas > maxCommas {
		return 0, fmt.Errorf("the registry's answer has more than %d parts", maxCommas)
	}
	return n, err
}

// registry knows the WHOIS server of each domain and network.
const registry = "whois.iana.org"

// whois asks the registry for its server, and that server for the object.
func whois(
	ctx context.Context, env *proto.Env, share *membudget.Share, query string,
) (map[string]any, string, error) {
	if strings.ContainsAny(query, "\r\n") {
		return nil, "", fmt.Errorf("%.80q is no query", query)
	}
	server, text := registry, ""
	for range 3 { // a registry may refer to another
		share.Release() // Query takes its own
		answer, err := wire.Query(ctx, env.DialHelper, net.JoinHostPort(server, wire.Port), query, maxAnswer)
		if err != nil {
			return nil, "", err
		}
		if need := membudget.Need(int64(len(answer)), memoryFactor*maxAnswer); need > 0 {
			if _, err := share.Grow(ctx, need); err != nil {
				return nil, "", err
			}
		}
		text = answer
		next := read(text)["refer"]
		if next == "" || next == server {
			break
		}
		server = next
	}
	fields := map[string]any{}
	for name, value := range read(text) {
		fields[name] = value
	}
	return fields, text, nil
}

// read are the "name: value" lines of an answer; values of one name are joined by commas.
func read(text string) map[string]string {
	values := map[string][]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || value == "" || strings.HasPrefix(name, "%") || strings.HasPrefix(name, "#") || len(name) > 60 {
			continue
		}
		values[name] = append(values[name], value)
	}
	fields := make(map[string]string, len(values))
	for name, all := range values {
		fields[name] = strings.Join(all, ",")
	}
	return fields
}
