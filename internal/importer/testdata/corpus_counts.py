#!/usr/bin/env python3
"""Counts what the reports of the corpus hold, by other means than the readers of this package.

    python3 corpus_counts.py CORPUS > corpus.tsv

For each file: the format, how many items are records, rejected and ignored, the severities of the records, a digest of
their places, and how it was worked out. A place is, of the first that a record has, URL and parameter, host and port,
file and line, package and version, or the name of a resource; "-" where the script does not work places out.
"""
import csv, hashlib, io, json, os, re, sys
import xml.etree.ElementTree as ET

CRIT, HIGH, MED, LOW, INFO, UNKNOWN = "critical", "high", "medium", "low", "info", "unknown"
WORDS = {"critical": CRIT, "high": HIGH, "important": HIGH, "medium": MED, "moderate": MED, "low": LOW, "info": INFO,
         "informational": INFO, "information": INFO, "none": INFO, "log": INFO, "negligible": INFO, "unknown": UNKNOWN}

def word(s): return WORDS.get((s or "").strip().lower(), UNKNOWN)
def text(n, path): return (n.findtext(path) or "").strip()
def bare(root):
    for n in root.iter():
        if isinstance(n.tag, str): n.tag = n.tag.split("}")[-1]
    return root
def xml(p): return bare(ET.parse(p).getroot())
def values(p):
    s = open(p, encoding="utf-8").read()
    d, i, out = json.JSONDecoder(), 0, []
    while True:
        while i < len(s) and s[i].isspace(): i += 1
        if i >= len(s): break
        v, i = d.raw_decode(s, i); out.append(v)
    return out[0] if len(out) == 1 and isinstance(out[0], list) else out
def rows(p): return list(csv.DictReader(io.StringIO(open(p, encoding="utf-8-sig").read())))

class R(list):
    """records as (severity, place), and what is ignored"""
    ignored = 0; how = ""; fmt = ""
def result(fmt, how, records, ignored=0):
    r = R(records); r.fmt, r.how, r.ignored = fmt, how, ignored
    return r
def url(u, param=""): return u + ("|" + param if param else "")

def nuclei(p):
    if os.path.getsize(p) == 0: return result("nuclei", "0 bytes", [])
    vs = values(p)
    return result("nuclei", "one for each object; place left out", [(word(v["info"].get("severity")), None) for v in vs])
def httpx(p): return result("httpx", "one for each line with failed=false", [(INFO, v["url"]) for v in values(p) if not v["failed"]])
def naabu(p): return result("naabu", "one for each line", [(INFO, f'{v.get("host") or v["ip"]}:{v["port"]}') for v in values(p)])
def masscan(p):
    if os.path.getsize(p) == 0: return result("masscan-json", "0 bytes", [])
    return result("masscan-json", "jq '[.[].ports[]]|length'", [(INFO, f'{h["ip"]}:{t["port"]}') for h in values(p) for t in h["ports"]])
def nmap(p):
    out, ignored = [], 0
    for h in xml(p).iter("host"):
        names = h.findall("hostnames/hostname")
        user = [n.get("name") for n in names if n.get("type") == "user"]
        host = (user or [n.get("name") for n in names] or [h.find("address").get("addr")])[0].lower()
        ignored += sum(int(e.get("count")) for e in h.iter("extraports"))
        for t in h.iter("port"):
            if t.find("state").get("state") == "open": out.append((INFO, f'{host}:{t.get("portid")}'))
            else: ignored += 1
    return result("nmap", "//port[state/@state='open']; closed ones and extraports are ignored", out, ignored)
def burp(p):
    out = []
    for i in xml(p).findall("issue"):
        m = re.search(r"\[(.*)\]$", text(i, "location"))
        param = re.sub(r" (cookie|HTTP header|JSON parameter|URL parameter|body parameter|parameter)$", "", m.group(1)) if m else ""
        out.append((word(text(i, "severity")), url(text(i, "host") + text(i, "path"), param)))
    return result("burp", "/issues/issue", out)
def burp_api(p):
    out = []
    for e in json.load(open(p))["issue_events"]:
        i = e["issue"]
        out.append((word(i["severity"]), i["origin"] + i["path"] if not re.search(r"\[.*\]", i["caption"]) else None))
    return result("burp_api", "jq '.issue_events[].issue'", out)
def zap(p):
    out = []
    for a in xml(p).iter("alertitem"):
        sev = {"3": HIGH, "2": MED, "1": LOW, "0": INFO}[text(a, "riskcode")]
        for i in a.iter("instance"): out.append((sev, url(text(i, "uri"), text(i, "param"))))
    return result("zap-xml", "//alertitem/instances/instance with the riskcode of its alert", out)
def nikto(p):
    out = []
    for i in xml(p).iter("item"):
        out.append((MED if i.get("osvdbid") not in ("0", "", None) else INFO, text(i, "namelink")))
    return result("nikto-xml", "//item; Medium with an osvdbid", out)
def wapiti(p):
    r = xml(p); out = []
    target = [i.text for i in r.iter("info") if i.get("name") == "target"][0]
    base = "/".join(target.split("/")[:3])
    for e in r.iter("entry"):
        names = ",".join(x.split("=")[0] for x in text(e, "parameter").split("&") if x.split("=")[0])
        path = text(e, "path")
        out.append(({"4": CRIT, "3": HIGH, "2": MED, "1": LOW, "0": INFO}[text(e, "level")], url(base + path, names)))
    return result("wapiti-xml", "//entry", out)
def sqlmap(p):
    if p.endswith(".csv"):
        return result("sqlmap-csv", "rows", [(HIGH, url(r["Target URL"], r["Parameter"])) for r in rows(p)])
    return result("sqlmap-log", "grep -c '^Parameter:'", [(HIGH, None) for l in open(p) if l.startswith("Parameter:")])
def ffuf(p):
    if p.endswith(".txt"): return None
    return result("ffuf", "jq '.results|length'", [(INFO, r["url"]) for r in json.load(open(p))["results"]])
def acunetix(p):
    if p.endswith(".json"):
        return result("acunetix360", "jq '.Vulnerabilities[]'", [(word(v["Severity"]), v["Url"]) for v in json.load(open(p))["Vulnerabilities"]])
    out = []
    for i in xml(p).iter("ReportItem"): out.append((word(text(i, "Severity")), None))
    return result("acunetix-xml", "//ReportItem", out)
def arachni(p):
    out = []
    for i in json.load(open(p))["issues"]:
        v = i["vector"]
        out.append((word(i["severity"]), url(v.get("action") or v["url"], v.get("affected_input_name") or "")))
    return result("arachni", "jq '.issues[]'", out)
def qualys_webapp(p):
    r = xml(p); sev = {text(q, "QID"): text(q, "SEVERITY") for q in r.iter("QID") if q.find("QID") is not None}
    site = text(r, "APPENDIX/WEBAPP/URL"); out = []
    level = {"1": LOW, "2": LOW, "3": MED, "4": HIGH, "5": CRIT}
    for l, kind in (("VULNERABILITY_LIST", 1), ("SENSITIVE_CONTENT_LIST", 1), ("INFORMATION_GATHERED_LIST", 0)):
        for lst in r.iter(l):
            for v in lst: out.append((level[sev[text(v, "QID")]] if kind else INFO, url(text(v, "URL") or site, text(v, "PARAM"))))
    return result("qualys_webapp", "RESULTS/*_LIST/* joined to //GLOSSARY//QID; information gathered is Info", out)

def tenable(p):
    level = {"0": INFO, "1": LOW, "2": MED, "3": HIGH, "4": CRIT}
    if p.endswith(".xml"):
        return result("nessus-xml", "//ReportItem", [(level[i.get("severity")], None) for i in xml(p).iter("ReportItem")])
    out = []
    for r in rows(p):
        if not (r.get("Plugin ID") or r.get("Plugin")): continue
        s = r.get("Severity") or r.get("Risk")
        host = r.get("FQDN") or r.get("DNS Name") or r.get("Host") or r.get("IP Address")
        port = r.get("Port")
        proto = (r.get("Protocol") or "").lower()
        place = None if proto in ("http", "https") else host.lower() + (":" + port if port and port != "0" else "")
        out.append((level.get(s) or word(s), place))
    return result("nessus-csv", "rows of Python's csv with a plugin id; the others are empty", out)
def openvas(p):
    out = [(word(r["Severity"]), (r["Hostname"] or r["IP"]).lower() + (":" + r["Port"] if r["Port"] else "")) for r in rows(p)]
    return result("openvas-csv", "rows", out)
def qualys(p):
    level = {"1": INFO, "2": LOW, "3": MED, "4": HIGH, "5": CRIT}
    out = [(level[r["Severity"]], (r["FQDN"] or r["DNS"] or r["IP"]).lower() + (":" + r["Port"] if r["Port"] else "")) for r in rows(p) if r["QID"]]
    return result("qualys-csv", "rows with a QID", out)
def testssl(p):
    out, ignored = [], 0
    grade = re.compile(r"^(rating_|grade_cap|overall_grade)|_score")
    for r in rows(p):
        if r["severity"] == "OK" or grade.search(r["id"]): ignored += 1; continue
        host, _, ip = r["fqdn/ip"].partition("/")
        out.append((INFO if r["severity"] == "WARN" else word(r["severity"]), f'{host}:{r["port"]}'))
    return result("testssl-csv", "rows; OK and parts of the grade are ignored, WARN is Info", out, ignored)
def sslscan(p):
    r = xml(p); out, ignored = [], 0
    for t in r.iter("ssltest"):
        at = f'{t.get("sniname") or t.get("host")}:{t.get("port")}'
        for n in t:
            a, bad = n.attrib, 0
            if n.tag == "heartbleed": bad = a["vulnerable"] == "1"
            elif n.tag == "compression": bad = a["supported"] == "1"
            elif n.tag == "renegotiation": bad = a["supported"] == "1" and a["secure"] == "0"
            elif n.tag == "cipher": bad = a["status"] in ("accepted", "preferred") and a["strength"] not in ("strong", "acceptable")
            elif n.tag == "certificate": bad = sum(text(n, x) == "true" for x in ("expired", "self-signed"))
            else: continue
            out += [(INFO, at)] * int(bad)
            ignored += not bad
    return result("sslscan", "children of //ssltest that are weak: heartbleed, compression, renegotiation, accepted weak cipher, expired or self-signed certificate", out, ignored)
WEAK = ("_NULL", "RC4", "EXPORT", "_anon_", "3DES", "_DES_", "_MD5", "_RC2_", "_IDEA_")
def tls(suites, checks, certificates, at, sev):
    hits = [bool(n) if old else any(w in x for x in n for w in WEAK) for old, n in suites]
    hits += [bool(c) for c in checks + certificates]
    return [(sev, at)] * sum(hits), len(hits) - sum(hits)
def sslyze(p):
    out, ignored = [], 0
    if p.endswith(".json"):
        for s in json.load(open(p))["server_scan_results"]:
            c, at = s["scan_commands_results"], s["server_info"]["server_location"]
            suites = [(i < 4, [x["cipher_suite"]["name"] for x in c[k]["accepted_cipher_suites"]]) for i, k in enumerate(
                f"{v}_cipher_suites" for v in ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1", "tls_1_2", "tls_1_3"))]
            g = c["session_renegotiation"]
            checks = [c["heartbleed"]["is_vulnerable_to_heartbleed"], c["openssl_ccs_injection"]["is_vulnerable_to_ccs_injection"],
                      c["robot"]["robot_result"].startswith("VULN"), g["accepts_client_renegotiation"], not g["supports_secure_renegotiation"],
                      c["tls_compression"]["supports_compression"]]
            certs = []
            for d in c["certificate_info"]["certificate_deployments"]:
                certs += [not d["leaf_certificate_subject_matches_hostname"], any(v["openssl_error_string"] for v in d["path_validation_results"])]
            o, i = tls(suites, checks, certs, f'{at["hostname"]}:{at["port"]}', MED); out += o; ignored += i
        return result("sslyze-json", "accepted suites of old protocols, weak suites, tests that say vulnerable, failed validation", out, ignored)
    for t in xml(p).iter("target"):
        suites = []
        for k in t:
            if re.match(r"(ssl|tls)v", k.tag):
                suites.append((k.tag in ("sslv2", "sslv3", "tlsv1", "tlsv1_1"), [x.get("name") for x in k.findall("acceptedCipherSuites/cipherSuite")]))
        g = t.find("reneg/sessionRenegotiation")
        checks = [t.find("heartbleed/openSslHeartbleed").get("isVulnerable") == "True", t.find("openssl_ccs/openSslCcsInjection").get("isVulnerable") == "True",
                  t.find("robot/robotAttack").get("resultEnum").startswith("VULN"), g.get("canBeClientInitiated") == "True", g.get("isSecure") == "False",
                  t.find("compression/compressionMethod").get("isSupported") == "True"]
        v = t.find("certinfo/certificateValidation")
        certs = [v.find("hostnameValidation").get("certificateMatchesServerHostname") == "False",
                 any(x.get("validationResult") != "ok" for x in v.findall("pathValidation"))]
        o, i = tls(suites, checks, certs, f'{t.get("host")}:{t.get("port")}', INFO); out += o; ignored += i
    return result("sslyze-xml", "accepted suites of old protocols, weak suites, tests that say vulnerable, failed validation", out, ignored)
def ssh_audit(p):
    d = json.load(open(p)); out, ignored = [], 0
    at = d.get("target", "")
    at = at if ":" in at else at + ":22"
    for k in ("kex", "key", "enc", "mac"):
        for a in d[k]:
            n = a["notes"]
            if n.get("fail"): out.append((HIGH, at))
            elif n.get("warn"): out.append((MED, at))
            else: ignored += 1
    for c in d["cves"]:
        s = c["cvssv2"]; out.append((LOW if s < 4 else MED if s < 7 else HIGH, at))
    return result("ssh_audit", "algorithms with fail or warn, and cves", out, ignored)

def bandit(p): return result("bandit", "jq '.results|length'", [(word(r["issue_severity"]), f'{r["filename"]}:{r["line_number"]}') for r in json.load(open(p))["results"]])
def semgrep(p):
    d = json.load(open(p)); m = {"ERROR": HIGH, "WARNING": MED, "INFO": LOW}
    out = [(m.get(r["extra"]["severity"]) or word(r["extra"]["severity"]), f'{r["path"]}:{r["start"]["line"]}') for r in d.get("results", [])]
    out += [(word(v["advisory"]["severity"]), None) for v in d.get("vulns", [])]
    return result("semgrep", "jq '.results[], .vulns[]'", out)
def gitleaks(p):
    return result("gitleaks", "jq length", [(HIGH, f'{v.get("File") or v.get("file")}' + (f':{v.get("StartLine") or v.get("lineNumber")}' if v.get("StartLine") or v.get("lineNumber") else "")) for v in values(p)])
def reason(s):
    s = s.lower()
    for part, sev in (("high entropy", INFO), ("oauth", CRIT), ("aws", CRIT), ("heroku", CRIT), ("generic secret", MED)):
        if part in s: return sev
    return HIGH
def trufflehog(p): return result("trufflehog", "wc -l; severity by the reason", [(reason(v["reason"]), v["path"]) for v in values(p)])
def trufflehog3(p):
    out = []
    for v in json.load(open(p)):
        out.append((reason(v["reason"]), v["path"]) if "reason" in v else (word(v["rule"]["severity"]), f'{v["path"]}:{v["line"]}'))
    return result("trufflehog3", "jq length", out)
def sonarqube(p):
    d = json.load(open(p)); m = {"BLOCKER": CRIT, "CRITICAL": HIGH, "MAJOR": MED, "MINOR": LOW, "INFO": INFO}
    out = [(m[i["severity"]], None) for i in d.get("issues", [])] + [(word(h["vulnerabilityProbability"]), None) for h in d.get("hotspots", [])]
    return result("sonarqube-json", "jq '.issues[], .hotspots[]'", out)
def sarif(p):
    d = json.load(open(p)); out, ignored = [], 0
    for run in d["runs"]:
        rules = run["tool"]["driver"].get("rules") or []
        byid = {r["id"]: r for r in rules}
        for r in run.get("results") or []:
            if r.get("kind") in ("pass", "notApplicable"): ignored += 1; continue
            rule = byid.get(r.get("ruleId")) or {}
            level = r.get("level") or (rule.get("defaultConfiguration") or {}).get("level") or "warning"
            sev = {"error": HIGH, "warning": MED, "note": LOW, "none": INFO}[level]
            score = (rule.get("properties") or {}).get("security-severity")
            if score:
                f = float(score); sev = INFO if f == 0 else LOW if f < 4 else MED if f < 7 else HIGH if f < 9 else CRIT
            at = ((r.get("locations") or [{}])[0].get("physicalLocation") or {})
            uri, line = (at.get("artifactLocation") or {}).get("uri"), (at.get("region") or {}).get("startLine")
            place = None if not uri or ":" in uri or "%" in uri or "\\" in uri else uri + (f":{line}" if line else "")
            out.append((sev, place))
    return result("sarif", "jq '.runs[].results[]' whose kind is not pass; security-severity before level", out, ignored)

def grype(p):
    out = []
    for m in json.load(open(p))["matches"]:
        s = m["vulnerability"].get("severity")
        a = m["artifact"]; g = re.match(r"pkg:maven/([^/]+)/([^@?]+)", a.get("purl") or "")
        out.append((INFO if s == "Unknown" else word(s), f'{g.group(1) + ":" + g.group(2) if g else a["name"]}@{a["version"]}'))
    return result("grype", "jq '.matches|length'", out)
def trivy(p):
    d = json.load(open(p)); out, ignored = [], 0
    def walk(rs):
        nonlocal ignored
        for r in rs or []:
            for v in r.get("Vulnerabilities") or []: out.append((word(v["Severity"]), f'{v["PkgName"]}@{v["InstalledVersion"]}'))
            for c in r.get("Misconfigurations") or []:
                if c.get("Status", "FAIL") == "FAIL": out.append((word(c["Severity"]), None))
                else: ignored += 1
            for s in r.get("Secrets") or []: out.append((word(s["Severity"]), f'{r["Target"]}:{s["StartLine"]}'))
    if isinstance(d, list): walk(d)
    elif d:
        walk(d.get("Results"))
        for k in ("Vulnerabilities", "Misconfigurations", "Resources"):
            for x in d.get(k) or []: walk(x.get("Results"))
    return result("trivy", "jq '..|.Vulnerabilities?, .Misconfigurations?, .Secrets?' of each result", out, ignored)
def npm_audit(p):
    d = json.load(open(p))
    if "error" in d: return None
    out = []
    for a in d["advisories"].values(): out.append((word(a["severity"]), f'{a["module_name"]}@{", ".join(f["version"] for f in a["findings"])}'))
    return result("npm_audit", "jq '.advisories|length'", out)
def snyk(p):
    d = json.load(open(p)); out = []
    def walk(x):
        for v in x.get("vulnerabilities") or []:
            out.append((word(v.get("severityWithCritical") or v["severity"]), f'{v.get("packageName") or v.get("moduleName") or v["name"]}@{v["version"]}'))
        for a in x.get("applications") or []: walk(a)
    for x in d if isinstance(d, list) else [d]: walk(x)
    return result("snyk", "jq '..|.vulnerabilities?[]'", out)
def govulncheck(p):
    d = json.load(open(p))
    if isinstance(d, dict): return result("govulncheck", "jq '.Vulns|length'; no levels: Info", [(INFO, None) for v in d["Vulns"]])
    fs = [x["finding"] for x in d if "finding" in x]
    return result("govulncheck", "jq '.[].finding' at the level of a symbol", [(HIGH, None) for f in fs if f["trace"][0].get("function")])
def dependency_check(p):
    out = []
    for d in xml(p).iter("dependency"):
        for v in d.findall("vulnerabilities/*"):
            s = max([float(x) for x in (text(v, "cvssV3/baseScore"), text(v, "cvssV2/score"), text(v, "cvssScore")) if x] or [0])
            out.append((word(text(v, "severity")) if text(v, "severity") else CRIT if s >= 9 else HIGH if s >= 7 else MED if s >= 4 else LOW, None))
    return result("dependency-check", "//dependency/vulnerabilities/*, suppressed ones too; by the score without a severity", out)
def cyclonedx(p):
    if p.endswith(".json"):
        d = json.load(open(p)); out = []
        for v in d.get("vulnerabilities", []):
            s = max(r.get("score", 0) for r in v["ratings"])
            out += [(CRIT if s >= 9 else HIGH if s >= 7 else MED if s >= 4 else LOW, None) for _ in v["affects"]]
        return result("cyclonedx-json", "jq '.vulnerabilities[].affects[]'; severity by the score", out)
    out = []
    for v in xml(p).iter("vulnerability"):
        sev = [word(text(r, "severity")) for r in v.findall("ratings/rating") if text(r, "method").startswith("CVSS")]
        out.append((sev[0], None))
    return result("cyclonedx-xml", "//vulnerability with the rating by CVSS", out)
def csaf(p):
    out = []
    for v in json.load(open(p)).get("vulnerabilities", []):
        for k, ids in v["product_status"].items():
            for i in ids if k != "recommended" else []:
                s = [x["cvss_v3"]["baseSeverity"] for x in v.get("scores", []) if i in x["products"]]
                out.append((word(s[0]) if s else MED, None))
    return result("csaf", "jq '.vulnerabilities[].product_status[][]'; Medium without a score", out)

def checkov(p):
    out, ignored = [], 0
    d = json.load(open(p))
    for r in d if isinstance(d, list) else [d]:
        for c in r["results"]["failed_checks"] + r["results"].get("skipped_checks", []):
            out.append((word(c["severity"]) if c.get("severity") else MED, f'{c.get("repo_file_path") or c["file_path"]}:{c["file_line_range"][0]}'))
        ignored += len(r["results"].get("passed_checks", []))
    return result("checkov", "jq '.results.failed_checks|length'; null is Medium", out, ignored)
def kubebench(p):
    d = json.load(open(p)); out, ignored = [], 0
    for c in d["Controls"] if isinstance(d, dict) else d:
        for t in c["tests"]:
            for r in t["results"]:
                if r["status"] == "FAIL": out.append((MED, None))
                elif r["status"] == "WARN" and r.get("type") != "manual": out.append((INFO, None))
                else: ignored += 1
    return result("kubebench", "jq '..|.results?[]|select(.status==\"FAIL\" or .status==\"WARN\" and .type!=\"manual\")'", out, ignored)
def kubehunter(p):
    if os.path.getsize(p) == 0: return None
    d = json.load(open(p))
    return result("kubehunter", "jq '.vulnerabilities|length'; nodes and services are ignored",
                  [(word(v["severity"]), v["location"] if re.match(r"^[0-9.]+:\d+$", v["location"]) else None) for v in d["vulnerabilities"]],
                  len(d["nodes"]) + len(d["services"]))
def kubescape(p):
    out, ignored = [], 0
    for r in json.load(open(p))["results"]:
        for c in r["controls"]:
            if c["status"]["status"] == "failed": out.append((None, None))
            else: ignored += 1
    return result("kubescape", "jq '.results[].controls[]|select(.status.status==\"failed\")'", out, ignored)
def trivy_operator(p):
    d = json.load(open(p)); out, ignored = [], 0
    if isinstance(d, dict) and "kind" not in d: d = [x for l in d.values() for x in l]
    for x in d if isinstance(d, list) else [d]:
        r = x.get("report", {})
        for v in r.get("vulnerabilities", []): out.append((word(v["severity"]), f'{v["resource"]}@{v["installedVersion"]}'))
        for s in r.get("secrets", []): out.append((word(s["severity"]), s["target"]))
        checks = [(c, None) for c in r.get("checks", [])]
        checks += [(c, q) for q in x.get("status", {}).get("detailReport", {}).get("results", []) for c in q["checks"]]
        for c, q in checks:
            if c["success"]: ignored += 1
            else: out.append((word(c["severity"] or q["severity"]), None))
    return result("trivy_operator", "jq '..|.vulnerabilities?, .secrets?, .checks?' without success", out, ignored)
def generic(p):
    if p.endswith(".csv"):
        s = open(p, encoding="utf-8-sig").read()
        out = [(word(r["Severity"]), None) for r in csv.DictReader(io.StringIO(s), skipinitialspace=True)]
        return result("defectdojo-csv", "rows", out)
    fs = json.load(open(p))["findings"]
    return result("defectdojo", "jq '.findings|length'", [(word(f["severity"]), None) for f in fs], sum(len(f.get("files", [])) for f in fs))

READERS = {"anchore_grype": grype}
def main(corpus):
    print("# file\tformat\taccepted\trejected\tignored\tseverities\tplaces\thow it was worked out (by corpus_counts.py)")
    for folder in sorted(os.listdir(corpus)):
        if not os.path.isdir(f"{corpus}/{folder}"): continue
        for name in sorted(os.listdir(f"{corpus}/{folder}")):
            path = f"{corpus}/{folder}/{name}"
            r = (READERS.get(folder) or globals()[folder])(path)
            if r is None:
                print(f"{folder}/{name}\t-\tE\tE\tE\t-\t-\tno report: an empty file, a list of words or a message of failure")
                continue
            sev = {}
            for s, _ in r: sev[s] = sev.get(s, 0) + 1
            known = all(p is not None for _, p in r) and len(r) > 0
            places = hashlib.sha256("\n".join(sorted({p for _, p in r})).encode()).hexdigest()[:12] if known else "-"
            sevs = " ".join(f"{s}:{sev[s]}" for s in (CRIT, HIGH, MED, LOW, INFO, UNKNOWN) if s in sev) or "-"
            print(f"{folder}/{name}\t{r.fmt}\t{len(r)}\t0\t{r.ignored}\t{sevs}\t{places}\t{r.how}")
main(sys.argv[1])
