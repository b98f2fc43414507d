package platform

// withoutEffect are the fields that are taken for the sake of other servers' clients.
var withoutEffect = map[string]string{
	"agent_id": ownWorkers, "agent_tags": ownWorkers, "agent_networks": ownWorkers, "agent_behavior": ownWorkers,
	"agent_auto_discover": ownWorkers,
	"users":               "users have no numbers here; name them in emails.",
}

const ownWorkers = "this server's own workers do everything."

// words describe the fields that mean the same in every schema.
const words = `message: Summary.
name: The name.
id: The id.
data, results: The page.
created_at: Creation time.
updated_at: Last change.
status, state: State.
template_id, template-id: The template's id.
total, total_results: Items in all.
severity: Severity.
scan_id: The scan's id.
email: Email address.
labels: The labels.
alerting_config_ids: Alerting configurations.
domain: The domain.
count, result_count: Items on this page.
role: Role.
event_type: Kind of event.
host: The host.
policies, filters: Filters.
enumeration_ids: Only assets of these enumerations.
template: The YAML text.
exclusions: Excluded patterns; with +, allowed ones: then only these are examined.
total_pages: Pages in all.
run: The number of the run, from 1.
config: YAML, plain or in base64.
config_type: Kind of configuration.
ok: Always true.
is_internal: Whether it has only internal addresses.
enumeration_id: The enumeration's id.
policy_type: Action.
scan_config_ids: Engine configurations and template sets.
target: The target.
timestamp: Time.
description: What was found, and why it matters.
share_type: Who may read it besides your team.
organizations: The organizations that it is shared with.
users_email: The users that it is shared with.
vuln_id: The finding's id.
limit: The limit.
offset: The offset.
events: Newest first.
team_id: Team id, for X-Team-Id.
global: Whether it is global.
root_domains: Domains whose subdomains are searched.
automatic_vuln_scans: Scan the new assets of each run: recommended templates, same exclusions and alerts.
steps: Steps; default all.
current_page: Page number, from 1.
to: New value.
apply_to_existing: Apply it to existing assets too.
scan_ids: Scan ids.
total_target: Targets.
report_config_ids, reporting_config_ids: Reporting configurations.
early_templates: Early templates.
agent_id, agent_tags, agent_networks, agent_behavior, agent_auto_discover: Stored and shown; has no effect.
tags: Its tags.
impact: What an attacker gains by it.
remediation: How to fix it.
subject_type: Kind of subject.
asset_policy_id, subject_id: The policy's id.
alert_config_id: Alerting configuration.
workspaces: Your teams, the default one first.
member_count: Number of members.
failure_reason, error_details: Why it failed, or what could not run.
error_message: Why it failed.
is_rescan: Whether it is a rescan.
rescan_count: Number of rescans.
cloudlist_config_ids: Cloud configurations to read the inventory of.
total_assets: Assets.
schedule: Its schedule, if any.
total_targets_processed: Hosts that the last run examined.
enrichment_inputs: Hosts, addresses, ranges, URLs and AS numbers (AS64500).
enumeration_config: Further options.
disable_global_alert_config: Ignore global alerting configurations.
exclude_targets: Excluded hosts (with *), addresses and ranges.
truncated-scan-targets: Always 0.
schedules: By next run.
at: When it was noted.
total_is_estimate: There are more items than the total says: it is counted up to a bound.
before: Sent as before with later pages, it hides newer items, so that pages do not shift.
next: For an unsorted list: the value of before, with offset 0, for the next page; absent on the last one.
change_event: What changed.
changed_at: Time of the change.
search: Part of the host, template id or template name.
progress: Progress in percent.
public_templates: Templates, folders and tags.
template_ids: Private templates.
template_urls: Templates by URL.
cve-id: CVE ids.
cwe-id: CWE ids.
cvss-metrics: The CVSS vector.
cvss-score: The CVSS score, 0 to 10.
epss-score: The EPSS score, 0 to 1.
epss-percentile: The EPSS percentile, 0 to 1.
template_path, template-path: Path of the template.
matcher_status, matcher-status: Whether it matched.
reference: Links.
url, ticket_url: URL of the issue.
current_status: Triage status.
exclude_type: Kind of value.
is_public: Always false.
result_type: Always matched.
event: The event, without request and response.
author: Who wrote it.
scan_frequency: Frequency.
hourly_frequency: Hours between hourly runs.
cron: Custom frequency: minute, hour, day, month, weekday.
time_zone: IANA time zone, such as Europe/Berlin; default UTC.
dir: The folder that it is in.
ids: Finding ids.
prompt: The prompt that it was written from.
asset_ids: The enumerations.
usual_count: The median of the runs before; absent while there are too few.
total_scan: Checks: targets × templates.
total_result: Findings.
is_new: The last release brought it.
plan: Its plan.
ip: The address.
port: The port.
verification_type: How it is proved.
error: What went wrong.
detail: Details.`
