package app

import "regexp"

// indexes are tables that databases and lists keep of the words in others.
var indexes = regexp.MustCompile(`_list$|_list_|_text$|_text_|^(list|river|goose|sqlite)_`)

func isIndex(name string) bool {
	return name != "leak_list" && name != "leak_in_list" && indexes.MatchString(name)
}

// unmarked are the tables that have no row with the mark after walk.plant, by the reason. A new table is planted there,
// or has its reason here.
var unmarked = map[string]string{
	"planted, and sealed or hashed: no word of it is in plain": `network_event secret gitlab_connection slack_workspace
		export_part`,
	"ids, states, numbers, times and digests of rows that have the words": `api_key asset_change asset_deleted
		evidence_head evidence_policy evidence_run evidence_entry finding_decision finding_identity finding_key finding_log
		finding_regroup finding_retest finding_setting finding_tally finding_total finding_upkeep former_member gitlab_note
		issue_scan knowledge_embedding knowledge_vector mask_key member model_mode network_capture network_policy
		project_member prompt_use reservation scan_chunk scan_plan scan_report scan_run skill_switch slack_event slack_thread
		sla_policy spending task_execution task_stop ticket_delivery ticket_note ticket_tracker triage_claim triage_progress
		interaction_session default_member github_attempt slack_attempt network_replay scan_schedule enumeration_schedule
		domain_search domain_probe review_defaults asset_policy_event audit_chain asset_team agent_use enumeration_run asset_log
		enumeration_chunk`,
	"of these tests: which tables were written": "written",
	"of a person, not of a team": `login_ticket password_reset recovery_code second_factor security_key
		security_key_challenge user_account user_identity user_session`,
	"of the whole server: no team's words": `evidence_signer feed feed_epss feed_kev github_delivery knowledge_number
		leak_key leak_list queue_lease queue_share server_secret sign_in_used template_file template_scope
		vulnerability_index vulnerability_record`,
	"what operators load; those see it who own the domain, as the story leaks shows": `leak leak_in_list leak_name leak_status`,
	"published for everybody on the server by its owner":                             `published_agent`,
	"made in TestWalks, which asks for it by its id": `asset_group asset_policy template_key template_share
		github_installation`,
	"workers copy into it what is in a planted row, and it is read by that row's team or id": `asset_past domain_answer
		domain_answer_run domain_source_alert enumeration_config enumeration_name enumeration_source interaction_request
		skill_use template_aside ticket ticket_outbox triage_application vulnerability report_style`,
}
