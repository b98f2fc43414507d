package stories

import "maps"

// yesNo is a boolean of which one value must make a difference.
const yesNo = "true|false"

// assetFilters pick no asset of testdata/parameters.txtar, or not all.
func assetFilters() map[string]string {
	return map[string]string{
		"is_tech": yesNo, "is_favicon": yesNo, "is_screenshot": yesNo, "is_new": yesNo, "is_internal": yesNo,
		"only_dns": yesNo, "only_ip": yesNo, "search": "zzz", "labels": "zzz", "host": "zzz.example", "port": "9",
		"status_code": "599", "title": "zzz", "content_length": "987654321", "cname": "zzz.example",
		"domain": "zzz.example", "technologies": "zzz", "ip": "203.0.113.9", "favicon": "1", "time": "last_day",
		"start_date": "2099-01-01", "end_date": "2001-01-01", "custom_filter": "port = 9", "not_seen_for_days": "1",
	}
}

// assetFilterFields are the fields of a body under a name, as JSON, and some more.
func assetFilterFields(name string, more map[string]string) map[string]string {
	out := map[string]string{}
	for field, value := range assetFilters() {
		switch field {
		case "favicon", "is_internal":
			continue // not a documented field
		case "domain":
			value = `["zzz.example"]`
		case "not_seen_for_days":
		default:
			if value != yesNo {
				value = `"` + value + `"`
			}
		}
		out[name+"."+field] = value
	}
	out[name+".enumeration_ids"] = `["{enumeration2}"]`
	maps.Copy(out, more)
	return out
}

// with is a copy of values with more of them; - takes one away.
func with(values map[string]string, more ...string) map[string]string {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]string{}
	}
	for i := 0; i+1 < len(more); i += 2 {
		if out[more[i]] = more[i+1]; more[i+1] == "-" {
			delete(out, more[i])
		}
	}
	return out
}

// pages are the parameters of a page of a list.
func pages(more ...string) map[string]string {
	return with(map[string]string{"limit": "1", "offset": "1000"}, more...)
}

func history() map[string]string {
	return pages("start_date", "2099-01-01", "end_date", "2001-01-01", "time_range", "last_month")
}

func probes() []probe {
	out := append(listProbes(), changeProbes()...)
	return append(append(out, scanProbes()...), agentProbes()...)
}

// listProbes only read.
func listProbes() []probe {
	contents := with(assetFilters(), "limit", "1", "offset", "1000", "sort_asc", "port", "sort_desc", "status_code")
	changes := pages("event_type", "reopened", "sort_asc", "created_at", "time", "last_day")
	results := `{"search": "e"}`
	exported := map[string]string{
		"ids": `["{vuln}"]`, "vuln_status": `"duplicate"`, "severity": `["low"]`, "host": `["zzz"]`, "domain": `["zzz"]`,
		"port": `[9]`, "template": `["zzz"]`, "search": `"zzz"`, "category": `["zzz"]`, "is_internal": yesNo,
	}
	return []probe{
		{op: "GET /v1/scans", path: "/v1/scans", query: pages("search", "zzz", "status", "failed", "sort_asc", "severity",
			"sort_desc", "name", "is_internal", yesNo)},
		{op: "GET /v1/scans/results", path: "/v1/scans/results", query: pages("severity", "low", "search", "zzz",
			"host", "zzz", "domain", "zzz", "port", "9", "templates", "zzz", "time", "last_day", "vuln_status", "duplicate",
			"tags", "zzz", "sort_asc", "severity", "sort_desc", "severity", "is_ticket", yesNo, "labels", "zzz",
			"category", "zzz", "is_regression", yesNo, "is_internal", yesNo, "asset_metadata", "true")},
		{op: "GET /v1/scans/vuln/changelogs", path: "/v1/scans/vuln/changelogs", query: changes},
		{op: "GET /v1/scans/vuln/{vuln_id}/changelogs", path: "/v1/scans/vuln/{vuln}/changelogs", query: changes},
		{op: "GET /v1/asset/{asset_id}/changelogs", path: "/v1/asset/{asset}/changelogs",
			query: with(changes, "event_type", "not_seen")},
		{op: "GET /v1/scans/vulns/history", path: "/v1/scans/vulns/history?vuln_hash={hash}",
			query: map[string]string{"history_limit": "1"}},
		{op: "GET /v1/scans/history", path: "/v1/scans/history", query: history()},
		{op: "GET /v1/scans/{scanId}/history", path: "/v1/scans/{scan}/history", query: history()},
		{op: "GET /v1/asset/enumerate/{enumerate_id}/history", path: "/v1/asset/enumerate/{enumeration}/history",
			query: history()},
		{op: "GET /v1/scans/{scan_id}/scan_log/export", path: "/v1/scans/{scan}/scan_log/export",
			query: map[string]string{"rescan_count": "9", "host": "zzz", "template": "zzz", "matched": yesNo,
				"time": "2099-01-01T00:00:00Z", "search": "zzz", "error": "zzz", "format": "csv", "async": "true",
				"alert_email": "a@example.com", "severity": "error"}},
		{op: "GET /v1/template/public", path: "/v1/template/public", query: pages("fields", "id")},
		{op: "GET /v1/template/public/{template_id}", path: "/v1/template/public/vedette-backup-zip",
			query: map[string]string{"fields": "id"}},
		{op: "GET /v1/template/early", path: "/v1/template/early", query: pages("fields", "id")},
		{op: "GET /v1/template/early/{id}", path: "/v1/template/early/early-one"},
		{op: "GET /v1/asset/enumerate/misconfiguration", path: "/v1/asset/enumerate/misconfiguration",
			query: pages("search", "a.exa", "finding_type", "origin_exposure")},
		{op: "GET /v1/template", path: "/v1/template", query: pages("fields", "id")},
		{op: "GET /v1/template/share", path: "/v1/template/share", query: pages("fields", "id", "sort_asc", "id",
			"sort_desc", "severity")},
		{op: "GET /v1/template/share/{template_id}", path: "/v1/template/share/{share}",
			query: map[string]string{"fields": "id"}},
		{op: "GET /v2/template/search", path: "/v2/template/search?q=wall", query: pages("fields", "id",
			"sort_asc", "severity", "sort_desc", "id", "highlight", "true", "facet_size", "1", "q", "zzz", "scope", "public")},
		{op: "GET /v1/asset/enumerate", path: "/v1/asset/enumerate", query: pages("search", "zzz", "enum_type", "cloud",
			"sort_asc", "name", "sort_desc", "name", "status", "failed", "time", "last_day", "start_date", "2099-01-01",
			"end_date", "2001-01-01", "custom_filter", "port = 9", "is_internal", yesNo)},
		{op: "GET /v1/asset/enumerate/contents", path: "/v1/asset/enumerate/contents",
			query: with(contents, "start_date", "-", "end_date", "-")},
		{op: "GET /v1/asset/enumerate/{enumerate_id}/contents", path: "/v1/asset/enumerate/{enumeration2}/contents",
			query: contents},
		{op: "GET /v1/asset/policy", path: "/v1/asset/policy", query: pages()},
		{op: "GET /v1/asset/policy/{policy_id}/events", path: "/v1/asset/policy/{policy}/events", query: pages()},
		{op: "GET /v1/asset/policy/suggestion", path: "/v1/asset/policy/suggestion?threshold=1",
			query: map[string]string{"limit": "1", "enumeration_id": "{enumeration2}"}},
		{op: "GET /v1/scans/config", path: "/v1/scans/config", query: pages("type", "cloudlist", "search", "zzz")},
		{op: "GET /v1/scans/config/{config_id}", path: "/v1/scans/config/{config}",
			query: map[string]string{"config_json": "true"}},
		{op: "GET /v1/team/audit_log", path: "/v1/team/audit_log", query: with(history(), "email", "zzz@example.com",
			"action", "zzz", "source", "platform")},
		{op: "GET /v1/team/audit_log/search", path: "/v1/team/audit_log/search?q=scans", query: pages("q", "zzz")},
		{op: "GET /v1/scans/{scan_id}/export", path: "/v1/scans/{upload}/export",
			query: map[string]string{"type": "csv", "async": "true"}},
		{op: "POST /v1/scans/{scan_id}/export", path: "/v1/scans/{upload}/export", body: `{}`,
			query: map[string]string{"type": "csv", "async": "true"}, fields: exported},
		{op: "POST /v1/scans/results/export", path: "/v1/scans/results/export", body: results,
			query: map[string]string{"type": "csv", "async": "true"},
			fields: with(exported, "scan_ids", `["{scan}"]`, "time", `"last_day"`, "start_date", `"2099-01-01"`,
				"end_date", `"2001-01-01"`)},
		{op: "GET /v1/scans/vuln/{vuln_id}/export", path: "/v1/scans/vuln/{vuln}/export",
			query: map[string]string{"type": "csv"}},
		{op: "GET /v1/asset/enumerate/{enum_id}/export", path: "/v1/asset/enumerate/{enumeration2}/export",
			query: with(assetFilters(), "is_internal", "-", "domain", "-", "domains", "zzz.example", "format", "csv",
				"async", "true")},
		{op: "GET /v1/asset/enumerate/export", path: "/v1/asset/enumerate/export",
			query: with(assetFilters(), "is_internal", "-", "is_tech", "-", "is_favicon", "-", "format", "csv",
				"async", "true", "sort_asc", "port", "sort_desc", "status_code")},
		{op: "GET /v1/scans/{scan_id}/asset/export", path: "/v1/scans/{scan}/asset/export",
			query: map[string]string{"search": "zzz", "format": "raw"}},
		{op: "GET /v1/asset/enumerate/{enumerate_id}/domains/export",
			path:  "/v1/asset/enumerate/{domains}/domains/export",
			query: map[string]string{"search": "zzz", "format": "raw"}},
	}
}
