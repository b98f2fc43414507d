package toolkit

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// The programs that load a tool, hand it its input and write its output after a mark; what the tool prints goes to the
// standard error.
var (
	//go:embed run.mjs
	runModule []byte
	//go:embed run.py
	runPython []byte
)

// Dial makes the connections of a tool; nil: it has no network.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Output is what a call of a tool came to.
type Output struct {
	Result json.RawMessage // what run returned; nil when it failed. Of a command of an agent: the text that it printed
	Fault  string          // what it threw, or why it was ended; "" when it did not fail
	Logs   string          // what it printed
	Took   time.Duration
}

// Bounds of an output.
const (
	maxResult = 1 << 20 // bytes
	maxLogs   = 16 << 10
)

// program is the name of the program that runs a language.
func (l Language) program() string {
	if l == Python {
		return "python3"
	}
	return "node"
}

// usable is why tools of a language cannot be run here.
func (s *Toolkits) usable(ctx context.Context, language Language) error {
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("no programs are run here: %w", err)
	}
	if _, err := sandbox.LookPath(language.program()); err != nil {
		return fmt.Errorf("%s is not installed here", language.program())
	}
	return nil
}

// run runs a tool. Its input fits its schema already. The error is one of ours; what goes wrong in the tool is in the
// output.
func (s *Toolkits) run(
	ctx context.Context, kit Toolkit, t Tool, input json.RawMessage, env map[string]string, dial Dial,
) (out Output, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	packages, release, err := s.packages(ctx, kit)
	if err != nil {
		return out, err
	}
	defer release()
	mark := rand.Text()
	asked, err := json.Marshal(map[string]any{"mark": mark, "input": input})
	if err != nil {
		return out, err
	}
	files := map[string][]byte{}
	args := []string{"node", isolate.Files + "/run.mjs"}
	if kit.Language == Python {
		args = []string{"python3", "-I", "-B", isolate.Files + "/run.py"}
		files["run.py"], files["init_code.py"], files["tool.py"] = runPython, []byte(kit.InitCode), []byte(t.compiled)
	} else {
		before, err := compile("init_code", kit.Language, kit.InitCode, false)
		if err != nil {
			return out, err
		}
		files["run.mjs"], files["tool.mjs"] = runModule, []byte(before+"\n"+t.compiled)
	}
	began := time.Now()
	got, err := isolate.Run(
		ctx,
		isolate.Command{Args: args, Stdin: string(asked), Files: files, Folders: kit.Language.folders(packages), Env: env,
			Dial: dial, Time: t.Timeout},
	)
	out.Took = time.Since(began)
	switch {
	case sandbox.IsLimit(err):
		out.Fault = err.Error()
		return out, nil
	case err != nil:
		return out, err
	}
	out.Logs = errs.Clip(strings.ToValidUTF8(string(got.Stderr), "\uFFFD"), maxLogs)
	out.read(t, got, mark)
	return out, nil
}

// read reads what came after the mark.
func (out *Output) read(t Tool, got *isolate.Result, mark string) {
	_, after, found := bytes.Cut(got.Stdout, []byte(mark))
	var answer struct {
		Output json.RawMessage `json:"output"`
		Error  string          `json:"error"`
	}
	switch {
	case !found || json.Unmarshal(after, &answer) != nil:
		out.Fault = fmt.Sprintf("The program ended with the code %d and no output.", got.Code)
	case answer.Error != "":
		out.Fault = errs.Clip(answer.Error, 2000)
	case len(answer.Output) > maxResult:
		out.Fault = fmt.Sprintf("The output is longer than %d bytes.", maxResult)
	default:
		if why := loop.Unfit(t.OutputSchema, answer.Output); why != "" {
			out.Fault = "The output does not fit output_schema: " + why
			return
		}
		out.Result = answer.Output
	}
}

// Test runs a tool that the caller owns with an input. It reaches the targets that are named, as a task with these
// targets would, and nothing without any. Invalid: the input does not fit its schema, or a target is malformed.
func (s *Toolkits) Test(ctx context.Context, id string, input json.RawMessage, targets []string) (Output, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Output{}, err
	}
	t, err := s.Tool(ctx, id)
	if err != nil {
		return Output{}, err
	}
	if t.OwnerID != c.UserID {
		return Output{}, errs.New(errs.Forbidden, "not_the_owner", "Only its owner can test this.")
	}
	if isNone(input) {
		input = json.RawMessage(`{}`)
	}
	if why := loop.Unfit(t.InputSchema, input); why != "" {
		return Output{}, errs.Field("input", "input does not fit input_schema: %s", why)
	}
	dial, err := s.dialTargets(ctx, c.TeamID, targets)
	if err != nil {
		return Output{}, errs.From(err).At("targets")
	}
	kit, err := s.find(ctx, s.db, c, t.Toolkit)
	if err != nil {
		return Output{}, err
	}
	if err := s.usable(ctx, kit.Language); err != nil {
		return Output{}, errs.New(errs.Unavailable, "tools_not_available", "%s.", err.Error())
	}
	if err := s.ready(ctx, kit); err != nil {
		return Output{}, err
	}
	env, missing, err := s.environment(ctx, c.TeamID, c.UserID, kit)
	if err != nil {
		return Output{}, err
	}
	if missing != "" {
		return Output{}, errs.New(
			errs.Conflict,
			"secret_not_found",
			"You have no secret named %s, which env_vars names.",
			missing,
		)
	}
	out, err := s.run(ctx, kit, t, input, env, dial)
	out.hide(env)
	return out, err
}

// dialTargets reaches targets, less what the team and the operator exclude.
func (s *Toolkits) dialTargets(ctx context.Context, teamID string, targets []string) (Dial, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	var all []netguard.Target
	for _, text := range targets {
		one, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	excluded, err := s.Exclusions.Patterns(ctx, teamID)
	if err != nil {
		return nil, err
	}
	scope, err := netguard.NewScope(
		all,
		netguard.Limits{Deny: slices.Concat(s.Deny, excluded.Denied()), Excludes: excluded.ExcludesHost},
	)
	if err != nil {
		return nil, err
	}
	return scope.Dial, nil
}

// environment are the secrets that the tools of a toolkit get; missing is the name of one that is not there.
func (s *Toolkits) environment(
	ctx context.Context, teamID, userID string, kit Toolkit,
) (env map[string]string, missing string, err error) {
	if len(kit.EnvVars) == 0 {
		return nil, "", nil
	}
	all, absent, err := s.Secrets.ForTask(ctx, teamID, userID, "", kit.EnvVars)
	if err != nil || len(absent) > 0 {
		return nil, strings.Join(absent, ", "), err
	}
	env = map[string]string{}
	for _, name := range kit.EnvVars {
		env[name] = all[name]
	}
	return env, "", nil
}
