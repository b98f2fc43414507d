package session

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// OAuth is how a token is got from a server of OAuth 2: with an authorisation code, which the account gets in the
// browser, where Authorize is set; else with the password of the account, or with the client's own secret where the
// account has no user.
type OAuth struct {
	Token                  *url.URL // where tokens are given
	Authorize              *url.URL // where the user agrees
	Redirect               *url.URL // where the client is told so; the browser does not go there
	ClientID, ClientSecret string
	Scopes                 []string
}

// basic is the scheme of HTTP authentication that needs no challenge.
const basic = "basic"

// asked is the scheme of HTTP authentication that an answer asks for, the strongest that is known; "" for none.
func asked(r *message.Response) string {
	if r.Status != http.StatusUnauthorized {
		return ""
	}
	var known []string
	for _, line := range r.Header.Values("WWW-Authenticate") {
		scheme, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), " ")
		known = append(known, scheme)
	}
	switch {
	case slices.Contains(known, "digest"):
		return client.Digest
	case slices.Contains(known, "ntlm"), slices.Contains(known, "negotiate"):
		return client.NTLM
	case slices.Contains(known, basic):
		return basic
	}
	return ""
}

// byHTTP sends the user and the password with each request, in the scheme that is asked for.
func (s *Session) byHTTP(ctx context.Context, scheme string) error {
	for _, u := range s.starts {
		if scheme == basic {
			s.SetHeader(u.Host, "Authorization",
				"Basic "+base64.StdEncoding.EncodeToString([]byte(s.Account.User+":"+s.Password)))
		} else {
			s.Authenticate(u.Host, scheme, s.Account.User, s.Password)
		}
	}
	s.how = "HTTP " + scheme + " authentication"
	answer, err := s.get(ctx, s.starts[0], s.User)
	if err == nil && answer.Status == http.StatusUnauthorized {
		err = ErrRefused
	}
	return err
}

// byOAuth asks for a token and sends it with each request. The error is ErrRefused where the server gives none.
func (s *Session) byOAuth(ctx context.Context) error {
	isElsewhere := s.OAuth.Token.Host != s.starts[0].Host
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: through{s.client, isElsewhere}})
	var token *oauth2.Token
	var err error
	switch {
	case s.OAuth.Authorize != nil:
		token, err = s.byCode(ctx)
	case s.Account.User != "":
		s.how = "a token of OAuth 2, for the password, of "
		config := &oauth2.Config{ClientID: s.OAuth.ClientID, ClientSecret: s.OAuth.ClientSecret, Scopes: s.OAuth.Scopes,
			Endpoint: oauth2.Endpoint{TokenURL: s.OAuth.Token.String()}}
		token, err = config.PasswordCredentialsToken(ctx, s.Account.User, s.Password)
	default:
		s.how = "a token of OAuth 2, for the client, of "
		config := &clientcredentials.Config{ClientID: s.OAuth.ClientID, ClientSecret: s.OAuth.ClientSecret,
			Scopes: s.OAuth.Scopes, TokenURL: s.OAuth.Token.String()}
		token, err = config.Token(ctx)
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.Join(ErrRefused, errors.New("OAuth 2: "+refused.ErrorCode+" "+refused.ErrorDescription))
	}
	if err != nil {
		return err
	}
	s.at = s.OAuth.Token.Path
	for _, u := range s.starts {
		s.SetHeader(u.Host, "Authorization", token.Type()+" "+token.AccessToken)
	}
	return nil
}

// maxForm bounds the request of a token, in bytes.
const maxForm = 64 << 10

// through sends the requests of a library as a run sends all: in its scope, and counted.
type through struct {
	client      *client.Client
	isElsewhere bool // what was given for the application is not for this host
}

// RoundTrip implements http.RoundTripper.
func (t through) RoundTrip(wire *http.Request) (*http.Response, error) {
	r := message.From(wire.Method, wire.URL)
	r.Header = wire.Header.Clone()
	if wire.Body != nil {
		defer wire.Body.Close()
		body, err := io.ReadAll(io.LimitReader(wire.Body, maxForm))
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	answer, err := t.client.Send(wire.Context(), r, client.Options{Forced: true, Bare: t.isElsewhere})
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: answer.Status, Status: http.StatusText(answer.Status), Header: answer.Header,
		Body: io.NopCloser(strings.NewReader(string(answer.Body))), ContentLength: int64(len(answer.Body)), Request: wire,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}
