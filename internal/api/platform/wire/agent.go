package wire

import "github.com/vedette-sec/vedette/internal/api/rest"

// Agent are the agents that a scan or an enumeration asks for. They have no effect.
type Agent struct {
	AgentID       string   `json:"agent_id,omitempty"`
	AgentTags     []string `json:"agent_tags"`
	AgentNetworks []string `json:"agent_networks"`
	AgentBehavior string   `json:"agent_behavior,omitempty"`
}

// AgentOf never has null for a list.
func AgentOf(id string, tags, networks []string, behavior string) Agent {
	return Agent{id, rest.OrEmpty(tags), rest.OrEmpty(networks), behavior}
}

// AgentRequest asks for agents.
type AgentRequest struct {
	AgentID       string   `json:"agent_id,omitempty" maxLength:"200"`
	AgentTags     []string `json:"agent_tags,omitempty" maxItems:"100"`
	AgentNetworks []string `json:"agent_networks,omitempty" maxItems:"100"`
	AgentBehavior string   `json:"agent_behavior,omitempty" enum:"distribute,mirror"`
}
