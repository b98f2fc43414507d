package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Fields that would run something are refused by their name, and lists of an answer are never null.
func TestWhatIsRefusedIsNamed(t *testing.T) {
	for field, r := range map[string]AgentRequest{
		"custom_tools":     {AgentCode: AgentCode{CustomTools: []map[string]any{{"id": "x"}}}},
		"verify_commands":  {AgentCode: AgentCode{VerifyCommands: []string{"id"}}},
		"require_env_vars": {AgentCode: AgentCode{RequireEnvVars: []string{"TOKEN"}}},
		"prereq_packages":  {AgentCode: AgentCode{PrereqPackages: []string{"nmap"}}},
	} {
		if _, err := r.update(); errs.From(err) == nil || errs.From(err).Param != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	text, err := json.Marshal(agentDoc(customagent.Agent{Text: customagent.Text{Tags: []string{}, NativeTools: []string{}}}))
	if err != nil || !strings.Contains(string(text), `"skills":[]`) || !strings.Contains(string(text), `"published_at":null`) {
		t.Errorf("%s, %v", text, err)
	}
}
