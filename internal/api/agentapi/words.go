package agentapi

import (
	"maps"
	"reflect"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task"
)

func kind[T any]() reflect.Type { return reflect.TypeFor[T]() }

// vocabulary is what the contract says of the documents that the slices declare.
func vocabulary() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			kind[account.Key]():          "APIKey",
			kind[account.NewKey]():       "CreatedAPIKey",
			kind[account.Token]():        "AccessToken",
			kind[account.LookupResult](): "MasterLookupResult",
			kind[account.LookupTeam]():   "MasterTeam",
			kind[account.LookupMember](): "MasterMember",
			kind[task.Options]():         "TaskOptions",
			kind[task.Budget]():          "TaskBudget",
			kind[task.Scope]():           "TaskScope",
			kind[task.Memory]():          "Memory",
			kind[task.Todo]():            "MemoryTodo",
			kind[task.TrackedFile]():     "MemoryFile",
			kind[task.LogEvent]():        "AgentLogEvent",
			kind[TaskDoc]():              "Task",
			kind[DeliveryDoc]():          "WebhookDelivery",
			kind[DeliveryList]():         "WebhookDeliveryList",
			kind[streamDoc]():            "TaskStream",
			kind[streamLink]():           "TaskStreamLink",
			kind[streamRow]():            "TaskStreamRow",
		},
		Enums: map[reflect.Type][]string{
			kind[task.Status]():            words(task.Statuses),
			kind[task.LogStatus]():         words(task.LogStatuses),
			kind[task.StopTarget]():        words([]task.StopTarget{task.StopTool, task.StopSubagent}),
			kind[task.Visibility]():        words([]task.Visibility{task.Private, task.Team, task.Unlisted, task.Public}),
			kind[task.Intrusiveness]():     words([]task.Intrusiveness{task.Passive, task.Safe, task.Intrusive}),
			kind[task.IssueStatus]():       words(task.IssueStatuses),
			kind[task.VerificationState](): words([]task.VerificationState{task.Pending, task.Verified, task.Unverified}),
			kind[task.Delivery]():          words([]task.Delivery{task.Webhook, task.Artifact}),
			kind[account.Plan]():           words([]account.Plan{account.Free, account.Pro, account.Enterprise}),
		},
		Words: fieldWords(),
	}
}

func words[S ~string](values []S) (out []string) {
	for _, value := range values {
		out = append(out, string(value))
	}
	return out
}

// fieldWords describe fields: by name where a name means the same everywhere, and by
// schema where it does not.
func fieldWords() map[string]string {
	all := taskWords()
	maps.Copy(all, logWords())
	maps.Copy(all, otherWords())
	for name := range strings.FieldsSeq(`mode project_id agent_id agent_ids ask_question auto_execute file_keys isolated max_iterations
		max_steps model secrets visibility budget scope created_by_agent`) {
		all[name] = "As in the request."
	}
	return all
}

// taskWords are those of tasks and what belongs to them.
func taskWords() map[string]string {
	return map[string]string{
		"id":                  "A uuid.",
		"task_id":             "The task's id.",
		"stream_id":           "The id of the task's output stream.",
		"streamId":            "The id of the task's output stream.",
		"created_at":          "When it was made.",
		"updated_at":          "When it last changed.",
		"started_at":          "When it began; null while it has not.",
		"completed_at":        "When it ended; null while it has not.",
		"finished_at":         "When it ended; null while it has not.",
		"title":               "One line that describes it.",
		"summary":             "The outcome in words, with what was not tested and what was not understood.",
		"severity":            "One of critical, high, medium, low, info, unknown.",
		"description":         "What was found, and why it matters.",
		"remediation":         "What to do about it.",
		"evidence":            "The requests that showed it, with what came back: the detection and its verification.",
		"template_id":         "The detection template that found it.",
		"target":              "The target of the task that it belongs to.",
		"matched_at":          "Where it was found: a URL, or host and port.",
		"issue_count":         "How many issues were verified.",
		"completion_delivery": "What happens with the completion artifact; null: nothing.",
		"total":               "How many there are in all, on every page.",
		"has_more":            "Whether a further page follows.",
		"next_cursor":         "The cursor of the next page; absent on the last.",
		"run_config":          "The further fields of the request, as they were given.",
		"message":             "What was done.",
		"masked_value":        "Its beginning and its end, when it is long enough to show them.",
		"default_available":   "Whether every task may use it.",
		"Secret.name":         "The name that tasks use.",
	}
}

// logWords are those of the log of what agents did.
func logWords() map[string]string {
	return map[string]string{
		"AgentLogEvent.id":             "Its id in this log.",
		"AgentLogEvent.sequence":       "Its place in the task's journal.",
		"AgentLogEvent.event_type":     "What began: model_call, tool_call, question, branch_start, verdict or note.",
		"AgentLogEvent.action":         "What was done.",
		"AgentLogEvent.status":         "How it ended; started while it runs, blocked while it waits for a person.",
		"AgentLogEvent.agent_id":       "The branch of the run: main, a sub-agent's such as main.1, or builtin.",
		"AgentLogEvent.agent_type":     "agent, subagent or planner.",
		"AgentLogEvent.tool_name":      "The tool that was called.",
		"AgentLogEvent.tool_call_id":   "The id of the call, for abort-tools and approve.",
		"AgentLogEvent.target":         "Its target, if the arguments name one.",
		"AgentLogEvent.input_summary":  "The beginning of what went in.",
		"AgentLogEvent.output_summary": "The beginning of what came out.",
		"AgentLogEvent.output_preview": "More of what came out.",
		"AgentLogEvent.error_message":  "Why it failed.",
		"AgentLogEvent.metadata":       "Further facts, by the type of event.",
		"AgentLogEvent.started_at":     "When it began.",
		"AgentLogEvent.completed_at":   "When it ended; null while it has not.",
		"AgentLogEvent.duration_ms":    "How long it took, in milliseconds.",

		"duration_ms":          "How long it took, in milliseconds.",
		"index":                "Its place, from 0.",
		"timestamp":            "When it happened.",
		"tool_name":            "The tool that was called.",
		"provider":             "Who serves the model.",
		"display_name":         "What its owner calls it.",
		"tasks":                "How many tasks.",
		"total_tasks":          "How many tasks.",
		"total_streams":        "How many streams, of which a task has one for each turn.",
		"total_steps":          "How many calls of models.",
		"total_tool_calls":     "How many calls of tools.",
		"total_agent_triggers": "How many sub-agents were started.",
		"total_execution_ms":   "How long the work took in all, in milliseconds.",
		"llm_cost":             "What the models cost, in US dollars.",
		"total_llm_cost":       "What the models cost, in US dollars.",
		"vedette_credits":      "What the server's own models cost, in US dollars.",
		"email":                "The owner's email address.",
		"tool_calls":           "How many calls of tools.",
		"error_message":        "Why it failed.",
		"is_byok":              "Whether a key of the caller or the team was used.",
		"task_title":           "The task in a line.",
		"tokens":               "What the models read and wrote.",
		"tool_time_ms":         "How long tools took, in milliseconds.",
		"llm_time_ms":          "How long models took, in milliseconds.",
		"cost_by_model":        "What each model cost, in US dollars.",
	}
}

// otherWords are those of models, usage, keys and what an operator sees.
func otherWords() map[string]string {
	return map[string]string{
		"StoredKey.provider_key":  "The key as it is kept.",
		"StoredKey.validation":    "The provider's answer.",
		"KeyValidation.valid":     "Whether the provider accepted the key.",
		"DeletedKey.deleted":      "Whether there was one.",
		"ModelPrice.input":        "US dollars for a million tokens read.",
		"ModelPrice.output":       "US dollars for a million tokens written.",
		"ModelPrice.cache_read":   "US dollars for a million tokens read from the provider's cache.",
		"ModelPrice.cache_write":  "US dollars for a million tokens put into the provider's cache.",
		"UsageTokens.output":      "Tokens written.",
		"UsageTokens.cache_read":  "Tokens read from the provider's cache.",
		"UsageTokens.cache_write": "Tokens put into the provider's cache.",
		"UsageList.data":          "The page.",

		"APIKey.last_used_at":    "When it was last used; null: never.",
		"CreatedAPIKey.key":      "The whole key, shown this once: svc_sk_ and 32 characters.",
		"AccessToken.expires_in": "Seconds until the token expires.",
		"access_token":           "What to send in the Authorization header, after Bearer.",
		"token_type":             "Always Bearer.",

		"exists":                  "Whether any region knows the user.",
		"user_region":             "The region that knows the user; null: none does.",
		"MasterLookupResult.team": "The user's team; null: none, or not disclosed.",
		"user_role":               "The user's role in the team.",
		"members":                 "The members of the team.",
		"MasterMember.email":      "The member's email address.",
		"MasterMember.role":       "The member's role in the team.",
		"name":                    "The team's name.",
		"plan":                    "The team's plan.",
		"owner_email":             "The email address of the team's owner.",
		"member_count":            "How many members the team has.",
		"webhook_url":             "Where completion artifacts are pushed; empty: nowhere.",

		"Issue.status":       "What people have decided about the issue.",
		"Issue.verification": "The result of a second, independent request; only verified issues are reported.",
		"Issue.note":         "Why it could not be confirmed.",
		"Evidence.kind":      "detection, or verification.",
		"Evidence.url":       "What was asked for.",
		"Evidence.matcher":   "The name of the matcher that matched.",
		"Evidence.extracted": "What was extracted from the answer.",
		"Evidence.request":   "The request as it was sent.",
		"Evidence.response":  "The beginning of the response.",
		"Evidence.curl":      "The request as a curl command.",
		"Evidence.at":        "When the request was sent.",
		"Evidence.verdict":   "Of a verification: confirmed.",
		"Evidence.confirmed": "Of a verification: how many independent requests showed it again.",
		"Evidence.tried":     "Of a verification: how many were sent for that.",
		"Finding.status":     "What people have decided about the issue.",

		"body":          "null: none.",
		"data":          "What is remembered.",
		"enabled":       "Whether tasks may use it.",
		"input_schema":  "JSON Schema of the arguments.",
		"is_owner":      "It is yours; only its owner changes it.",
		"messages":      "The conversation: each instruction and its result.",
		"method":        "The HTTP method.",
		"native_tools":  "The tools of the toolbox that it has; all when empty.",
		"query":         "Added to the query of the URL.",
		"read_only":     "Whether only tools are offered that the server marks as read-only.",
		"response_path": "A JSON pointer (RFC 6901) to the part of a JSON answer that is wanted; empty: all of it.",
		"shared":        "Whether everybody's tasks in the team may use it.",
		"status":        "How far the task is.",
		"tags":          "Words to find it by.",
		"trusted":       "Whether requests other than GET and HEAD are sent without asking a person.",
		"trusted_tools": "Names of tools that may be called without asking a person.",
		"url":           "The streamable-HTTP endpoint.",
		"when_to_use":   "When a model should use it.",

		"schema_version":                         "The version of this shape: 1.",
		"event":                                  "task.completed; on webhook deliveries only.",
		"CompletionArtifact.completed_at":        "When the task ended.",
		"CompletionArtifact.completion_delivery": "The mode the task was created with.",
		"CompletionArtifact.status":              "How the task ended.",
		"CompletionArtifact.issue_count":         "How many findings there are.",
		"findings":                               "The verified issues of the task, the worst first.",
	}
}
