package stories

// agentProbes are those of the agent-task API.
func agentProbes() []probe {
	const tasks, agents, secrets = "/api/v1/tasks", "/api/v1/agents/user", "/api/v1/secrets"
	usage := pages("task_id", "{task}", "status", "failed", "model", "zzz", "from", "2099-01-01T00:00:00Z",
		"to", "2001-01-01T00:00:00Z", "search", "zzz", "email", "zzz@example.com", "is_byok", yesNo)
	memory := "/api/v1/memory/{task}"
	return []probe{
		{op: "GET /api/v1/tasks", path: tasks, query: map[string]string{"limit": "1", "status": "suspended"}},
		{op: "GET /api/v1/tasks/{id}/agent-audit-log", path: tasks + "/{task}/agent-audit-log",
			query: map[string]string{"limit": "1", "starting_after": "1000", "event_type": "zzz", "status": "failed",
				"agent_id": "zzz", "tool_name": "zzz", "stream_id": "01a206f9-8ddf-7265-a0bd-77ba1425f636"}},
		{op: "GET /api/v1/files", path: "/api/v1/files", query: map[string]string{"page_size": "1", "directory": "zzz",
			"search": "zzz", "keys": "a/one.txt", "types": "zzz", "include_url": "true", "chat_id": "zzz",
			"include_total": "true", "sort_by": "size", "order": "asc", "project_id": "{project}"}},
		{op: "GET /api/v1/usage/tasks", path: "/api/v1/usage/tasks", query: usage},
		{op: "GET /api/v1/usage/tasks/{task_id}", path: "/api/v1/usage/tasks/{task}"},
		{op: "GET /api/v1/usage/streams", path: "/api/v1/usage/streams",
			query: with(usage, "stream_id", "01a206f9-8ddf-7265-a0bd-77ba1425f636")},
		{op: "GET /api/v1/usage/summary", path: "/api/v1/usage/summary", query: map[string]string{
			"from": "2099-01-01T00:00:00Z", "to": "2001-01-01T00:00:00Z", "group_by": "month"}},
		{op: "GET " + secrets, path: secrets, query: map[string]string{"project_id": "{project}"}},
		{op: "POST " + secrets, path: secrets, body: `{"name": "MINE", "value": "hidden-1234567"}`,
			after: "DELETE " + secrets + "/{id}",
			fields: map[string]string{"name": `"OTHER"`, "value": `"a-much-longer-value-7654321"`, "created_by_agent": "true",
				"default_available": "true", "project_id": `"{project}"`}},
		{op: "POST /api/v1/memory/{task_id}", path: memory, body: `{}`, look: []string{memory},
			fields: map[string]string{"facts": `["f"]`, "insights": `["i"]`, "todos": `[{"content": "c", "index": 0, "status": "pending"}]`,
				"tracked_files": `[{"path": "p", "type": "file", "summary": "s"}]`, "user_runtime_input": `["u"]`}},
		{op: "PATCH " + agents + "/{agent_id}", before: "POST " + agents + ` {"name": "Probe"}`, path: agents + "/{id}",
			body: `{}`, after: "DELETE " + agents + "/{id}",
			fields: map[string]string{"name": `"Mine"`, "description": `"d"`, "when_to_use": `"w"`, "system_context": `"s"`,
				"tags": `["t"]`, "native_tools": `["crawl"]`, "custom_tools": `[{"id": "x", "description": "d", "command_template": "true"}]`, "is_dynamic": "true",
				"prereq_packages": `["p"]`, "install_commands": `["i"]`, "verify_commands": `["v"]`,
				"require_env_vars": `["R"]`}},
		{op: "PATCH /api/v1/teams", path: "/api/v1/teams", body: `{"name": "blue"}`,
			fields: map[string]string{"name": `"green"`,
				"webhook_url": `"https://hooks.example.com/x"`}},
	}
}
