package extension

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// program is what is stored of a server that is a program.
type program struct {
	Command []string          `json:"command,omitempty"`
	EnvVars []string          `json:"env_vars,omitempty"`
	Hosts   []string          `json:"hosts,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
}

func (x *Server) program() program { return program{x.Command, x.EnvVars, x.Hosts, x.Files} }

// Bounds of programs.
const (
	maxPrograms = 8 // that run at the same time in this process
	maxOfTeam   = 4 // and in a team
	maxArgs     = 50
	maxArg      = 4 << 10 // bytes
	maxEnvVars  = 50
	maxHosts    = 50
	maxFiles    = 20
	maxFileText = 256 << 10 // bytes of all files
	maxLog      = 4 << 10   // bytes of the end that are shown
)

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)
)

func (s *Extensions) checkProgram(x *Server) error {
	switch {
	case x.URL != "":
		return errs.Field("url", "url or command: give one of them.")
	case len(x.Headers) > 0:
		return errs.Field("headers", "headers: a program gets none.")
	case len(x.sealed) > 0:
		return errs.Field("bearer_token", "bearer_token: a program gets its secrets by env_vars.")
	case len(x.Command) > maxArgs:
		return errs.Field("command", "command must have at most %d parts.", maxArgs)
	case len(x.EnvVars) > maxEnvVars:
		return errs.Field("env_vars", "env_vars must have at most %d names.", maxEnvVars)
	case len(x.Hosts) > maxHosts:
		return errs.Field("hosts", "hosts must have at most %d names.", maxHosts)
	case len(x.Files) > maxFiles:
		return errs.Field("files", "files: at most %d.", maxFiles)
	}
	return s.checkParts(x)
}

// checkParts checks each part of a program.
func (s *Extensions) checkParts(x *Server) error {
	for i, arg := range x.Command {
		if i == 0 && strings.TrimSpace(arg) == "" || len(arg) > maxArg || db.Clean(arg) != arg {
			return errs.Field("command", "command[%d] must be text of at most %d bytes; the first is the program.", i, maxArg)
		}
	}
	for _, name := range x.EnvVars {
		if !envName.MatchString(name) {
			return errs.Field("env_vars", "env_vars: %q is no name of a secret.", errs.Clip(name, 100))
		}
	}
	for i, host := range x.Hosts {
		u, err := s.Guard.CheckURL("https://" + host + "/")
		if err != nil || u.Host == "" || u.Path != "/" || u.User != nil || u.RawQuery != "" {
			return errs.Field("hosts", "hosts: %q is no host that programs may reach, such as api.example.com or api.example.com:8443.",
				errs.Clip(host, 100))
		}
		x.Hosts[i] = strings.ToLower(u.Host)
	}
	size := 0
	for name, text := range x.Files {
		if size += len(text); size > maxFileText {
			return errs.Field("files", "files are longer than %d bytes together.", maxFileText)
		}
		if !fileName.MatchString(name) || db.Clean(text) != text {
			return errs.Field("files", "files %.100q: the name must be one of a file without a folder, and the content text.", name)
		}
	}
	return nil
}

// dialProgram starts a program with its owner's secrets in the sandbox. hidden are their values.
func (s *Extensions) dialProgram(
	ctx context.Context, teamID string, x Server, log io.Writer,
) (session *mcp.Session, hidden []string, err error) {
	env, missing, err := s.secretsOf(ctx, teamID, x.OwnerID, x.EnvVars)
	if err != nil {
		return nil, nil, err
	}
	if len(missing) > 0 {
		return nil, nil, errs.New(errs.Invalid, CodeNoSecret, "There is no secret named %s.", strings.Join(missing, ", "))
	}
	for _, value := range env {
		hidden = append(hidden, value)
	}
	command := isolate.Command{Args: x.Command, Env: env, Files: map[string][]byte{}}
	for name, text := range x.Files {
		command.Files[name] = []byte(text)
	}
	if len(x.Hosts) > 0 {
		command.Dial = s.dialHosts(x.Hosts)
	}
	session, err = mcp.Connect(ctx, mcp.Config{Program: &command, Slots: s.programs.of(teamID), Log: &hiding{log, env}})
	return session, hidden, err
}

// turns are those of the programs that run at the same time: a team leaves some to the others.
type turns struct {
	all   chan struct{}
	mu    sync.Mutex
	teams map[string]chan struct{}
}

func (t *turns) of(teamID string) []chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.teams[teamID] == nil {
		t.teams[teamID] = make(chan struct{}, maxOfTeam)
	}
	return []chan struct{}{t.teams[teamID], t.all}
}

// dialHosts reaches hosts, where the guard allows it.
func (s *Extensions) dialHosts(hosts []string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
			host = "[" + host + "]"
		}
		if !slices.Contains(hosts, strings.ToLower(host)) && !slices.Contains(hosts, strings.ToLower(addr)) {
			return nil, errs.New(errs.Forbidden, netguard.CodeBlocked, "%s is refused: it is not one of hosts.",
				errs.Clip(addr, 300))
		}
		return s.Guard.Dial(ctx, network, addr)
	}
}

// hiding writes the end of a text, without secrets.
type hiding struct {
	to      io.Writer
	secrets map[string]string
}

// Write implements io.Writer; it is called once.
func (h *hiding) Write(p []byte) (int, error) {
	text := redact.New(h.secrets).Redact(db.Clean(strings.ToValidUTF8(string(p), "\uFFFD")))
	if cut := len(text) - maxLog; cut > 0 {
		text = "…" + strings.ToValidUTF8(text[cut:], "")
	}
	_, err := fmt.Fprint(h.to, text)
	return len(p), err
}
