package stories

const (
	newScan        = `POST /v1/scans {"targets": ["198.51.100.7"], "templates": ["vcs"], "schedule_only": true}`
	newEnumeration = `POST /v1/asset/enumerate {"enrichment_inputs": ["198.51.100.7"], "steps": ["dns_resolve"]}`
	newTemplate    = `POST /v1/template {"template": "id: probe\ninfo:\n  name: Probe\n  author: a\n  severity: low\nhttp:\n  - path: ['{{BaseURL}}/']\n    matchers:\n      - type: word\n        words: [x]\n"}`
	newPolicy      = `POST /v1/asset/policy {"name": "p", "policy_type": "set_label", "policies": {"port": "7"}, "labels": ["l"]}`
	newGroup       = `POST /v1/asset/enumerate/group {"name": "g", "filters": {"search": "0"}}`
	newConfig      = `POST /v1/scans/config {"name": "c", "config_type": "scan", "config": "rate-limit: 5"}`
)

// changeProbes change something, and look at it. What they make is deleted with the server.
func changeProbes() []probe {
	const groups, policies = "/v1/asset/enumerate/group", "/v1/asset/policy"
	ofGroup := []string{"/v1/asset/enumerate/{id}/contents", "/v1/asset/enumerate/{id}"}
	replaced := `id: probe\ninfo:\n  name: Probe 2\n  author: a\n  severity: low\nhttp:\n  - path: ['{{BaseURL}}/']\n    matchers:\n      - type: word\n        words: [x]\n`
	return []probe{
		{op: "PATCH /v1/asset/labels", path: "/v1/asset/labels", body: `{"filters": {}, "labels": ["one"]}`,
			fields: assetFilterFields("filters", nil)},
		{op: "POST " + groups, path: groups, body: `{"filters": {"custom_filter": "port < 70000"}}`, look: ofGroup,
			fields: assetFilterFields("filters", map[string]string{"name": `"Mine"`})},
		{op: "PATCH " + groups + "/{group_id}", before: newGroup, path: groups + "/{id}?update_type=replace",
			body: `{"name": "g", "filters": {"search": "0"}}`, look: ofGroup,
			fields: with(assetFilterFields("filters", map[string]string{"name": `"Mine"`}), "filters.search", `"zzz"`)},
		{op: "POST " + policies, path: policies, look: []string{policies + "/{id}"},
			body: `{"policy_type": "set_label", "policies": {"search": "yyy"}, "labels": ["l"]}`,
			fields: assetFilterFields("policies", map[string]string{"name": `"Mine"`, "policy_type": `"remove_label"`,
				"alerting_config_ids": `["{alerts}"]`, "labels": `["other"]`, "enumeration_ids": `["{enumeration}"]`,
				"apply_to_existing": "true"})},
		{op: "PATCH " + policies + "/{policy_id}", before: newPolicy, path: policies + "/{id}", body: `{}`,
			look: []string{policies + "/{id}"},
			fields: assetFilterFields("policies", map[string]string{"name": `"Mine"`, "policy_type": `"remove_label"`,
				"alerting_config_ids": `["{alerts}"]`, "labels": `["other"]`, "enumeration_ids": `["{enumeration}"]`,
				"apply_to_existing": "true"})},
		{op: "PATCH " + policies + "/{policy_id}", before: newPolicy, path: policies + "/{id}",
			body: `{"name": "p", "policy_type": "set_label", "policies": {"port": "7"}, "labels": ["x"]}`,
			look: []string{policies + "/{id}"}, query: map[string]string{"update_type": "replace"}},
		{op: "PATCH /v1/template", before: newTemplate, path: "/v1/template",
			body:   `{"template_id": "{id}", "template": "` + replaced + `"}`,
			fields: map[string]string{"prompt": `"look for x"`, "filename": `"mine.yaml"`, "dir": `"mine"`}},
		{op: "POST /v1/template/share", before: newTemplate, path: "/v1/template/share",
			body:   `{"template_id": "{id}", "share_type": "users", "emails": ["alice@example.com"]}`,
			fields: map[string]string{"share_type": `"organization"`, "organizations": `["{bob.team}"]`, "ttl": `"1d"`, "emails": `["bob@example.com"]`}},
		{op: "PATCH /v1/scans/config/{config_id}", before: newConfig, path: "/v1/scans/config/{id}", body: `{}`,
			look:   []string{"/v1/scans/config/{id}"},
			fields: map[string]string{"name": `"Mine"`, "config": `"rate-limit: 6"`, "global": "true"}},
		{op: "POST /v1/scans/config", path: "/v1/scans/config",
			body: `{"name": "c", "config_type": "scan", "config": "rate-limit: 5"}`, look: []string{"/v1/scans/config/{id}"},
			fields: map[string]string{"name": `"Mine"`, "config": `"rate-limit: 6"`, "oauth_config_id": `"o"`}},
		{op: "POST /v1/scans/config/verify", path: "/v1/scans/config/verify",
			body:   `{"config": "rate-limit: 5", "config_type": "scan"}`,
			fields: map[string]string{"oauth_config_id": `"o"`}},
	}
}

// scanProbes change scans and enumerations. They start none.
func scanProbes() []probe {
	const enumerate, config = "/v1/asset/enumerate", "/v1/asset/enumerate/{id}/config"
	ofScan := []string{"/v1/scans/{id}/config", "/v1/scans/{id}"}
	ofEnumeration := []string{config, "/v1/asset/enumerate/{id}"}
	times := map[string]string{"scan_frequency": `"daily"`, "start_time": `"03:00Z"`, "hourly_frequency": "5"}
	agent := []string{"agent_id", `"a"`, "agent_tags", `["a"]`, "agent_networks", `["a"]`, "agent_behavior", `"mirror"`}
	return []probe{
		{op: "POST /v1/scans", path: "/v1/scans", look: ofScan,
			body: `{"targets": ["198.51.100.7"], "templates": ["vcs"], "schedule_only": true}`,
			fields: with(assetFilterFields("asset_filters", map[string]string{
				"targets": `["198.51.100.8"]`, "templates": `["config"]`, "assets": `["{enumeration}"]`,
				"private_templates": `[{"name": "x.yaml", "contents": "id: x\ninfo:\n  name: X\n  author: a\n  severity: low\nhttp:\n  - path: ['{{BaseURL}}/']\n    matchers:\n      - type: word\n        words: [x]\n"}]`,
				"name":              `"Mine"`, "recommended": "true", "all": "true", "alerting_config_ids": `["{alerts}"]`,
				"scan_config_ids": `["{config}"]`, "reporting_config_ids": `["{tracker}"]`,
				"exclude_targets": `["198.51.100.9"]`, "exclusions": `["198.51.100.9"]`,
				"enumeration_ids": `[{"id": "{enumeration}"}]`, "automatic_scan": "true", "scan_all_assets": "true",
				"socks5_proxy": `"socks5://9.9.9.9:1080"`, "early_templates": `["early-one"]`,
				"disable_global_alert_config": "true", "disable_global_report_config": "true",
				"disable_global_scan_config": "true"}), agent...)},
		{op: "PATCH /v1/scans/{scan_id}/config", before: newScan, path: "/v1/scans/{id}/config", body: `{}`, look: ofScan,
			query: nil,
			fields: with(assetFilterFields("asset_filters", map[string]string{
				"targets": `["198.51.100.8"]`, "assets_lists": `["{enumeration}"]`, "templates": `["config"]`,
				"scan_config_ids": `["{config}"]`, "report_config_ids": `["{tracker}"]`,
				"alerting_config_ids": `["{alerts}"]`, "enumeration_ids": `[{"id": "{enumeration}"}]`,
				"socks5_proxy": `"socks5://9.9.9.9:1080"`, "early_templates": `["early-one"]`, "scan_all_assets": "true"}), agent...)},
		{op: "PATCH /v1/scans/{scan_id}", before: newScan, path: "/v1/scans/{id}", body: `{"name": "x"}`, look: ofScan,
			fields: map[string]string{"name": `"Mine"`}},
		{op: "POST /v1/scans/schedule", before: newScan, path: "/v1/scans/schedule", look: []string{"/v1/scans/{id}"},
			body: `{"scan_id": "{id}", "scan_frequency": "hourly", "start_time": "04:00Z"}`, fields: times},
		{op: "POST /v1/enumeration/schedule", before: newEnumeration, path: "/v1/enumeration/schedule",
			look: []string{"/v1/asset/enumerate/{id}"},
			body: `{"enumeration_id": "{id}", "scan_frequency": "hourly", "start_time": "04:00Z"}`, fields: times},
		{op: "POST /v1/scans/schedule", before: newScan, path: "/v1/scans/schedule", look: []string{"/v1/scans/{id}"},
			body:   `{"scan_id": "{id}", "scan_frequency": "weekly", "start_time": "04:00Z"}`,
			fields: map[string]string{"custom_weekdays": "[1]|[2]"}},
		{op: "POST /v1/enumeration/schedule", before: newEnumeration, path: "/v1/enumeration/schedule",
			look:   []string{"/v1/asset/enumerate/{id}"},
			body:   `{"enumeration_id": "{id}", "scan_frequency": "weekly", "start_time": "04:00Z"}`,
			fields: map[string]string{"custom_weekdays": "[1]|[2]"}},
		{op: "POST " + enumerate, path: enumerate, look: ofEnumeration,
			body: `{"enrichment_inputs": ["198.51.100.7"], "steps": ["dns_resolve"]}`,
			fields: with(map[string]string{
				"root_domains": `["example.invalid"]`, "enrichment_inputs": `["198.51.100.8"]`, "name": `"Mine"`,
				"steps": `["dns_resolve", "dns_scraping"]`, "enumeration_ports": `"7"`, "alerting_config_ids": `["{alerts}"]`,
				"exclude_targets": `["198.51.100.9"]`, "exclusions": `["198.51.100.9"]`,
				"enumeration_config.follow-redirect": "false", "enumeration_config.ports": `"7"`,
				"automatic_vuln_scans": "true", "agent_auto_discover": "true"}, agent...)},
		{op: "PATCH /v1/asset/enumerate/{enumerate_id}/config", before: newEnumeration, path: config, body: `{}`,
			look: ofEnumeration,
			fields: map[string]string{
				"name": `"Mine"`, "root_domains": `["example.invalid"]`, "enrichment_inputs": `["198.51.100.8"]`,
				"steps": `["dns_scraping"]`, "enum_ports": `"7"`, "enumeration_config.follow-redirect": "false",
				"enumeration_config.ports": `"7"`, "alerting_config_ids": `["{alerts}"]`,
				"subfinder_config_ids": `["{keys}"]`, "exclusions": `["198.51.100.9"]`, "automatic_vuln_scans": "true"}},
	}
}
