package extension

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/httptool"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const (
	maxURL       = 2000
	maxToken     = 10_000
	leastToken   = 8 // characters: shorter ones would be removed from other words
	maxToolNames = 200
	maxHeader    = 10_000
)

func (s *Extensions) check(x *Server) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`).MatchString(x.Name) {
		return errs.Field("name", "name must be small letters, digits and hyphens, begin with a letter, and have at most 20 characters.")
	}
	if i := slices.IndexFunc(s.Reserved, func(name string) bool { return strings.HasPrefix(name, x.Name+"_") }); i >= 0 {
		return errs.Field("name", "name: the tools of a server of this name could be taken for %s, which every task has.",
			s.Reserved[i])
	}
	if err := s.checkReached(x); err != nil {
		return err
	}
	if _, err := headersOf(x.Headers); err != nil {
		return err
	}
	if x.Headers == nil {
		x.Headers = map[string]string{}
	}
	for field, list := range map[string]*[]string{"enabled_tools": &x.EnabledTools, "trusted_tools": &x.TrustedTools} {
		if len(*list) > maxToolNames {
			return errs.Field(field, "%s must have at most %d names.", field, maxToolNames)
		}
		for _, name := range *list {
			if err := checkText(field, name, 1, 128); err != nil {
				return err
			}
		}
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if len(x.EnabledTools) == 0 {
		x.EnabledTools = nil
	}
	return nil
}

// checkReached checks how a server is reached: by its address, or as a program.
func (s *Extensions) checkReached(x *Server) error {
	if len(x.Command) > 0 {
		return s.checkProgram(x)
	}
	switch {
	case x.URL == "":
		return errs.Field("url", "url or command: give one of them.")
	case len(x.EnvVars)+len(x.Hosts)+len(x.Files) > 0:
		return errs.Field("command", "command is missing: env_vars, hosts and files are those of a program.")
	case len(x.URL) > maxURL:
		return errs.Field("url", "url must have at most %d characters.", maxURL)
	}
	u, err := s.Guard.CheckURL(x.URL)
	if err != nil {
		return errs.From(err).At("url")
	}
	u.Fragment = ""
	x.URL = u.String()
	return nil
}

func headersOf(fields map[string]string) (httptool.Headers, error) {
	for name, value := range fields {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "mcp-") ||
			slices.Contains([]string{"accept", "content-type", "last-event-id"}, lower) {
			return nil, errs.Field("headers", "headers %.100q: it belongs to the protocol and cannot be set.", name)
		}
		if len(value) > maxHeader {
			return nil, errs.Field("headers", "headers %.100q: the value must have at most %d bytes.", name, maxHeader)
		}
	}
	compiled, err := httptool.CompileHeaders(fields)
	if err == nil && len(compiled.Params()) > 0 {
		err = errs.Field("headers", "headers: {{%s}} is no secret: write {{$NAME}}.", compiled.Params()[0])
	}
	return compiled, err
}

// setToken seals a bearer token, which may be empty.
func (s *Extensions) setToken(x *Server, token string) error {
	if token == "" {
		x.sealed, x.MaskedToken = nil, ""
		return nil
	}
	if len(x.Command) > 0 {
		return errs.Field("bearer_token", "bearer_token: a program gets its secrets by env_vars.")
	}
	if len(token) < leastToken || len(token) > maxToken ||
		strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errs.Field("bearer_token", "bearer_token must have %d to %d visible ASCII characters.", leastToken, maxToken)
	}
	h, err := httptool.CompileHeaders(map[string]string{"X": token})
	if err != nil || len(h.Params()) > 0 {
		return errs.Field("bearer_token", "bearer_token must be the token itself, or a secret as {{$NAME}}.")
	}
	x.MaskedToken = secret.Mask(token)
	if len(h.Secrets()) > 0 {
		x.MaskedToken = token
	}
	x.sealed, err = s.box.Seal([]byte(token), "mcp_server/"+x.ID)
	return err
}

func (s *Extensions) token(x Server) (string, error) {
	if len(x.sealed) == 0 {
		return "", nil
	}
	plain, err := s.box.Open(x.sealed, "mcp_server/"+x.ID)
	return string(plain), err
}
