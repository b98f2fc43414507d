package agentapi

import (
	"maps"
	"reflect"

	"github.com/vedette-sec/vedette/internal/api/agentapi/auditlogs"
	"github.com/vedette-sec/vedette/internal/api/agentapi/billing"
	"github.com/vedette-sec/vedette/internal/api/agentapi/connections"
	"github.com/vedette-sec/vedette/internal/api/agentapi/issues"
	"github.com/vedette-sec/vedette/internal/api/agentapi/network"
	"github.com/vedette-sec/vedette/internal/api/agentapi/projects"
	"github.com/vedette-sec/vedette/internal/api/agentapi/prompts"
	"github.com/vedette-sec/vedette/internal/api/agentapi/schedules"
	"github.com/vedette-sec/vedette/internal/api/agentapi/skills"
	"github.com/vedette-sec/vedette/internal/api/agentapi/sshkeys"
	"github.com/vedette-sec/vedette/internal/api/agentapi/teams"
	"github.com/vedette-sec/vedette/internal/api/agentapi/triage"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/issue"
	"github.com/vedette-sec/vedette/internal/core/task"
	coretriage "github.com/vedette-sec/vedette/internal/core/triage"
)

func kind[T any]() reflect.Type { return reflect.TypeFor[T]() }

// vocabulary describes types of other packages in the contract.
func vocabulary() rest.Vocabulary {
	all := ownVocabulary()
	for _, area := range []rest.Vocabulary{schedules.Words(), projects.Words(), sshkeys.Words(), auditlogs.Words(),
		teams.Words(), billing.Words(), skills.Words(), prompts.Words(), network.Words(), connections.Words()} {
		maps.Copy(all.Names, area.Names)
		maps.Copy(all.Words, area.Words)
	}
	return all
}

func ownVocabulary() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			kind[account.Key]():              "APIKey",
			kind[account.NewKey]():           "CreatedAPIKey",
			kind[account.Token]():            "AccessToken",
			kind[account.LookupResult]():     "MasterLookupResult",
			kind[account.LookupTeam]():       "MasterTeam",
			kind[account.LookupMember]():     "MasterMember",
			kind[task.Options]():             "TaskOptions",
			kind[task.Budget]():              "TaskBudget",
			kind[task.Scope]():               "TaskScope",
			kind[task.Memory]():              "Memory",
			kind[task.Todo]():                "MemoryTodo",
			kind[task.TrackedFile]():         "MemoryFile",
			kind[task.LogEvent]():            "AgentLogEvent",
			kind[TaskDoc]():                  "Task",
			kind[streamDoc]():                "TaskStream",
			kind[streamLink]():               "TaskStreamLink",
			kind[streamRow]():                "TaskStreamRow",
			kind[triage.Queue]():             "TriageQueue",
			kind[triage.Claim]():             "TriageClaim",
			kind[triage.QueueList]():         "TriageQueueList",
			kind[triage.QueueRequest]():      "TriageQueueRequest",
			kind[triage.QueuePatch]():        "TriageQueuePatch",
			kind[triage.Item]():              "TriageItem",
			kind[triage.ItemList]():          "TriageItemList",
			kind[triage.Suggestion]():        "TriageSuggestion",
			kind[triage.SuggestionList]():    "TriageSuggestionList",
			kind[triage.SuggestionRequest](): "TriageSuggestionRequest",
			kind[triage.Rule]():              "TriageRule",
			kind[triage.RuleList]():          "TriageRuleList",
			kind[triage.RuleRequest]():       "TriageRuleRequest",
			kind[triage.RulePatch]():         "TriageRulePatch",
			kind[triage.RuleOrder]():         "TriageRuleOrder",
			kind[triage.RunRequest]():        "TriageRunRequest",
			kind[triage.DryRunRequest]():     "TriageDryRunRequest",
			kind[triage.RunResult]():         "TriageRunResult",
			kind[triage.RunDecision]():       "TriageDecision",
			kind[triage.ApplicationList]():   "TriageApplicationList",
			kind[triage.Done]():              "TriageDone",
			kind[coretriage.Selection]():     "TriageSelection",
			kind[coretriage.Set]():           "TriageSet",
			kind[coretriage.Accept]():        "TriageAccept",
			kind[coretriage.Effect]():        "TriageEffect",
			kind[coretriage.Application]():   "TriageApplication",
			kind[issues.List]():              "IssueList",
			kind[issues.Patch]():             "IssuePatch",
			kind[issues.Request]():           "IssueRequest",
			kind[issues.Evidence]():          "IssueRequestEvidence",
			kind[issues.Bulk]():              "IssuesRequest",
			kind[issues.BulkResult]():        "IssuesCreated",
			kind[issues.Comment]():           "IssueComment",
			kind[issues.CommentList]():       "IssueCommentList",
			kind[issues.CommentText]():       "IssueCommentText",
			kind[issues.Deleted]():           "IssueCommentDeleted",
			kind[issues.Timeline]():          "IssueTimeline",
			kind[issues.Assets]():            "IssueAssets",
			kind[issue.Event]():              "IssueEvent",
			kind[issue.Asset]():              "IssueAsset",
			kind[issue.Count]():              "IssueCount",
			kind[issue.Statistics]():         "IssueStatistics",
		},
		Enums: map[reflect.Type][]string{
			kind[task.Status]():     words(task.Statuses),
			kind[task.LogStatus]():  words(task.LogStatuses),
			kind[task.StopTarget](): words([]task.StopTarget{task.StopTool, task.StopSubagent}),
			kind[task.Visibility](): words([]task.Visibility{task.Private, task.Team, task.Unlisted, task.Public}),
			kind[task.Intrusiveness](): words(
				[]task.Intrusiveness{task.Passive, task.Safe, task.Active, task.Intrusive},
			),
			kind[task.IssueStatus](): words(task.IssueStatuses),
			kind[task.VerificationState](): words(
				[]task.VerificationState{task.Pending, task.Verified, task.Unverified, task.Reported},
			),
			kind[task.Delivery](): words([]task.Delivery{task.Webhook, task.Artifact}),
			kind[account.Plan]():  words(account.Plans()),
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

// fieldWords describe fields: by name where a name means the same everywhere, and by schema where it does not.
func fieldWords() map[string]string { return rest.ParseWords(fieldText) }

const fieldText = `id: A uuid.
task_id: The task's id.
stream_id, streamId: The id of the task's output stream.
created_at: Creation time.
updated_at: Time of the last change.
started_at: Start time; null before the start.
completed_at, finished_at: End time; null until then.
title: One line that describes it.
summary: The outcome in words, with what was not tested or not understood.
severity: One of critical, high, medium, low, info, unknown.
description: What was found, and why it matters.
remediation: How to fix it.
evidence: The requests that showed it, with what came back: the detection and its verification.
template_id: The detection template that found it.
target: The target of the task.
matched_at: Where it was found: a URL, or host and port.
issue_count: Number of verified issues.
completion_delivery: What to do with the completion artifact; null: nothing.
total: Number of items on all pages.
has_more: Whether there is another page.
next_cursor: The cursor of the next page; absent on the last.
run_config: Further fields of the request.
message: Result, in words.
masked_value: The first and last characters, if it is long enough to show them.
default_available: Whether every task may use it.
Secret.name: The name by which tasks use it.
AgentLogEvent.id: Its id in this log.
AgentLogEvent.sequence: Its position in the task's journal.
AgentLogEvent.event_type: model_call, tool_call, question, branch_start, verdict or note.
AgentLogEvent.action: Action.
AgentLogEvent.status: started while it runs, blocked while it waits for a person, or the result.
AgentLogEvent.agent_id: The branch of the run: main, a sub-agent's such as main.1, or builtin.
AgentLogEvent.agent_type: agent, subagent or planner.
AgentLogEvent.tool_call_id: The id of the call, for abort-tools and approve.
AgentLogEvent.target: Target among the arguments, if any.
AgentLogEvent.input_summary: Beginning of the input.
AgentLogEvent.output_summary: Beginning of the output.
AgentLogEvent.output_preview: Longer part of the output.
AgentLogEvent.metadata: Further data, by event type.
AgentLogEvent.started_at: Start time.
duration_ms: Duration in milliseconds.
index: Position, from 0.
timestamp: Time of the call.
tool_name: The tool that was called.
provider: Provider of the model.
display_name: Display name.
tasks, total_tasks: Number of tasks.
total_streams: Number of streams; a task has one for each turn.
total_steps: Number of model calls.
total_tool_calls, tool_calls: Number of tool calls.
total_agent_triggers: Number of sub-agents started.
total_execution_ms: Total working time in milliseconds.
llm_cost, total_llm_cost: What the models cost, in US dollars, whoever paid.
vedette_credits: What the server's own models cost, in US dollars.
email: Email address.
error_message: Why it failed.
is_byok: Whether a key of the caller or the team was used.
task_title: Title of the task.
tokens: Tokens that the models read and wrote.
tool_time_ms: Time spent in tools, in milliseconds.
llm_time_ms: Time spent in models, in milliseconds.
cost_by_model: What each model cost, in US dollars.
StoredKey.provider_key: The stored key.
StoredKey.validation: The provider's answer.
KeyValidation.valid: Whether the provider accepted the key.
DeletedKey.deleted: Whether a key was deleted.
ModelPrice.input: US dollars for a million tokens read.
ModelPrice.output: US dollars for a million tokens written.
ModelPrice.cache_read: US dollars for a million tokens read from the provider's cache.
ModelPrice.cache_write: US dollars for a million tokens put into the provider's cache.
UsageTokens.output: Tokens written.
UsageTokens.cache_read: Tokens read from the provider's cache.
UsageTokens.cache_write: Tokens put into the provider's cache.
UsageList.data: The page.
CreatedAPIKey.key: The whole key, shown this once: svc_sk_ and 32 characters.
AccessToken.expires_in: Seconds until the token expires.
access_token: Send it in the Authorization header, after Bearer.
token_type: Always Bearer.
exists: Whether any region knows the user.
user_region: The user's region; null: unknown.
MasterLookupResult.team: The user's team; null: none, or not disclosed.
user_role: The user's role in the team.
members: The members of the team.
MasterMember.email: The member's email address.
MasterMember.role: The member's role in the team.
name: The name.
plan: The team's plan.
owner_email: The email address of the team's owner.
member_count: Number of members.
webhook_url: Where completion artifacts are pushed; empty: nowhere.
Issue.status, Finding.status: Triage status.
Issue.verification: What a second, independent request has shown; only verified ones are listed. reported: by a person.
Issue.note: Why it could not be confirmed.
Evidence.kind: detection, verification, or report.
Evidence.url: The requested URL.
Evidence.matcher: The name of the matcher that matched.
Evidence.extracted: What was extracted from the answer.
Evidence.request: The request as it was sent.
Evidence.response: The beginning of the response.
Evidence.curl: The request as a curl command.
Evidence.at: When the request was sent.
Evidence.verdict: Of a verification: confirmed.
Evidence.confirmed: Of a verification: how many independent requests confirmed it.
Evidence.tried: Of a verification: how many were sent.
body: null: none.
data: The memory.
scope: Whose memory it is.
TaskOptions.scope, TaskOptions.reporting_mode: As in the request.
TaskOptions.chat: The chat in which it was requested, and which is told what becomes of it: slack; absent: none.
enabled: Whether tasks may use it.
input_schema: JSON Schema of the arguments.
is_owner: Whether you own it; only its owner may change it.
messages: The conversation: each instruction and its result.
method: The HTTP method.
native_tools: Built-in tools that it may use; empty: all.
query: Added to the query of the URL. A field that is nothing but an argument is left out when the argument is absent.
read_only: Whether only tools are offered that the server marks as read-only.
response_path: A JSON pointer (RFC 6901) to the part of a JSON answer to return; default: all of it.
shared: Whether everybody's tasks in the team may use it; only an admin shares.
status: State of the task.
tags: Keywords.
trusted: Whether calls that may change something are made without asking a person.
trusted_tools: Names of tools that may be called without asking a person.
url: The streamable-HTTP endpoint.
when_to_use: When a model should use it.
schema_version: The version of this shape: 1.
event: task.completed; on webhook deliveries only.
CompletionArtifact.completed_at: When the task ended.
CompletionArtifact.completion_delivery: The mode the task was created with.
CompletionArtifact.status: How the task ended.
CompletionArtifact.issue_count: Number of findings.
findings: The verified issues of the task, the worst first.
mode, agent_id, agent_ids, ask_question, auto_execute, file_keys, isolated, max_iterations: As in the request.
max_steps, model, secrets, visibility, budget, created_by_agent: As in the request.
count: Number of items.
IssueRequestEvidence.request: The request as text.
IssueRequestEvidence.response: The response as text.
rule_name: The rule's name.
rule_id: The rule's id.
applied_at: When it was applied.
TriageQueuePatch.sort: The order.
old_value: What it was.
new_value: What it is now.
ended_at: When it was accepted, dismissed or outdated; absent: not yet.
TriageSuggestion.state: open until it is accepted, dismissed, or outdated by a newer one.
issues_by_status: By decision.
stop: Whether no later rule looks at a finding that matches it.
port: Ports.
first_seen_at: When it was seen there first.
last_seen_at: When it was seen there last.
host: The host, without port.
label: The value.
project_id: The project that it belongs to.`
