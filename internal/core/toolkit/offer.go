package toolkit

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Offer is a tool for a task.
type Offer struct {
	Name        string
	Description string // data, from its author
	Schema      json.RawMessage
	Timeout     time.Duration
	// Call runs it; dial makes its connections.
	Call func(ctx context.Context, input json.RawMessage, dial Dial) (Output, error)
}

// Missing says why a task does not have a tool.
type Missing struct{ Tool, Why string }

// ForTask are the tools of a user's tasks: their own and the team's, without those of former members. Of two with one
// name, or one in taken, the first counts. hidden are the secrets that tools get.
func (s *Toolkits) ForTask(
	ctx context.Context, teamID, userID string, taken []string,
) (offers []Offer, missing []Missing, hidden []string, err error) {
	tools, err := s.tools(ctx, teamID, userID, ` AND enabled AND EXISTS (SELECT 1 FROM member m
		WHERE m.team_id = program_tool.team_id AND m.user_id = program_tool.user_id)`)
	if err != nil || len(tools) == 0 {
		return nil, nil, nil, err
	}
	kits, err := s.kitsOf(ctx, teamID, tools)
	if err != nil {
		return nil, nil, nil, err
	}
	names := slices.Clone(taken)
	unusable := map[Language]string{}   // why tools of a language cannot be run
	notInstalled := map[string]string{} // why those of a toolkit cannot
	for _, t := range tools {
		kit := kits[t.Toolkit]
		if _, asked := unusable[kit.Language]; !asked {
			unusable[kit.Language] = ""
			if err := s.usable(ctx, kit.Language); err != nil {
				unusable[kit.Language] = err.Error()
			}
		}
		if _, asked := notInstalled[kit.ID]; !asked && unusable[kit.Language] == "" {
			if notInstalled[kit.ID], err = s.notInstalled(ctx, kit); err != nil {
				return nil, nil, nil, err
			}
		}
		env, absent, err := s.environment(ctx, teamID, t.OwnerID, kit)
		if err != nil {
			return nil, nil, nil, err
		}
		switch {
		case slices.Contains(names, t.ToolID):
			missing = append(missing, Missing{t.ToolID, "another tool has its name"})
		case unusable[kit.Language] != "":
			missing = append(missing, Missing{t.ToolID, unusable[kit.Language]})
		case notInstalled[kit.ID] != "":
			missing = append(missing, Missing{t.ToolID, notInstalled[kit.ID]})
		case absent != "":
			missing = append(missing, Missing{t.ToolID, "its owner has no secret named " + absent})
		default:
			names = append(names, t.ToolID)
			for _, value := range env {
				hidden = append(hidden, value)
			}
			offers = append(offers, s.offer(kit, t, env))
		}
	}
	return offers, missing, hidden, nil
}

// notInstalled installs the packages of a toolkit where they are not there yet, and is why they cannot be.
func (s *Toolkits) notInstalled(ctx context.Context, kit Toolkit) (why string, err error) {
	_, release, err := s.packages(ctx, kit)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return errs.Clip(errs.From(err).Message, maxInstallText), nil
	}
	release()
	return "", nil
}

func (s *Toolkits) offer(kit Toolkit, t Tool, env map[string]string) Offer {
	description := t.Description
	if t.WhenToUse != "" {
		description += "\nWhen to use it: " + t.WhenToUse
	}
	return Offer{
		Name: t.ToolID, Description: description, Schema: t.InputSchema, Timeout: t.Timeout,
		Call: func(ctx context.Context, input json.RawMessage, dial Dial) (Output, error) {
			out, err := s.run(ctx, kit, t, input, env, dial)
			out.hide(env)
			return out, err
		},
	}
}

// hide takes secrets out of an output.
func (out *Output) hide(env map[string]string) {
	if len(env) == 0 {
		return
	}
	secrets := redact.New(env)
	out.Fault, out.Logs = secrets.Redact(out.Fault), secrets.Redact(out.Logs)
	if len(out.Result) == 0 {
		return
	}
	clean, err := secrets.RedactJSON(out.Result)
	if err != nil {
		clean, out.Fault = nil, "The output could not be read."
	}
	out.Result = clean
}

// kitsOf are the toolkits of tools, by id.
func (s *Toolkits) kitsOf(ctx context.Context, teamID string, tools []Tool) (map[string]Toolkit, error) {
	kits := map[string]Toolkit{}
	for _, t := range tools {
		if _, ok := kits[t.Toolkit]; ok {
			continue
		}
		kit, err := scan(s.db.QueryRow(ctx, `SELECT `+columns+` FROM toolkit WHERE id = ? AND team_id = ?`, t.Toolkit, teamID))
		if err != nil {
			return nil, err
		}
		kit.InitCode = strings.TrimSpace(kit.InitCode)
		kit.aged(s.Now())
		kits[t.Toolkit] = kit
	}
	return kits, nil
}
