package feed

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const epssText = "#model_version:v2025.03.14,score_date:2026-01-02T12:55:00Z\ncve,epss,percentile\nCVE-2021-44228,0.94358,0.99961\ncve-2014-0160,0.94464,1\n"

const kevText = `{"title": "Catalog", "catalogVersion": "2026.01.02", "count": 2, "vulnerabilities": [
	{"cveID": "CVE-2021-44228", "vulnerabilityName": "Log4j", "dateAdded": "2021-12-10", "dueDate": "2021-12-24",
	 "requiredAction": "Update.", "knownRansomwareCampaignUse": "Known", "cwes": ["CWE-20"]},
	{"cveID": "CVE-2014-0160", "vulnerabilityName": "Heartbleed", "dateAdded": "2022-05-04", "knownRansomwareCampaignUse": "Unknown"}]}`

func zipped(text string) *bytes.Buffer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return &b
}

// A load takes effect as a whole, and one that is refused changes nothing.
func TestLoad(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fs, ctx := New(d), t.Context()
		if l, err := fs.LoadEPSS(ctx, zipped(epssText)); err != nil || l.Entries != 2 || !strings.Contains(l.Version, "2026-01-02") {
			t.Fatal(l, err)
		}
		if l, err := fs.LoadKEV(ctx, strings.NewReader(kevText)); err != nil || l.Entries != 2 || l.Version != "2026.01.02" {
			t.Fatal(l, err)
		}
		cves := []string{"CVE-2014-0160", "CVE-2021-44228", "CVE-2000-0001"}
		check := func() {
			t.Helper()
			scores, err := Scores(ctx, d, cves)
			if err != nil || len(scores) != 2 || scores["CVE-2021-44228"] != (Score{0.94358, 0.99961}) || scores["CVE-2014-0160"].Percentile != 1 {
				t.Errorf("%v %v", scores, err)
			}
			known, err := KnownExploited(ctx, d, cves)
			if err != nil || len(known) != 2 || known["CVE-2021-44228"] != (Exploited{"2021-12-10", "2021-12-24", true, "Log4j", "Update."}) ||
				known["CVE-2014-0160"].IsRansomware {
				t.Errorf("%v %v", known, err)
			}
		}
		check()
		before, err := Generation(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		many := "cve,epss,percentile\n" + strings.Repeat("CVE-2020-1000,0.1,0.1\n", 3000)
		for name, text := range map[string]string{
			"none": "", "no head": "CVE-2021-44228,0.9,0.9\n", "no entries": "cve,epss,percentile\n",
			"no CVE":    many + "x,0.1,0.1\n",
			"a number":  "cve,epss,percentile\nCVE-2021-44228,1.5,0.9\n",
			"no number": "cve,epss,percentile\nCVE-2021-44228,NaN,0.9\n", "cells": "cve,epss,percentile\nCVE-2021-44228\n",
			"a line": "cve,epss,percentile\n" + strings.Repeat("x", maxLine+1),
		} {
			if _, err := fs.LoadEPSS(ctx, strings.NewReader(text)); !errs.Is(err, errs.Invalid) || errs.From(err).Param != "epss" {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, text := range map[string]string{
			"none": "", "a list": "[]", "cut off": kevText[:len(kevText)-10], "no list": `{"vulnerabilities": {}}`,
			"no CVE": `{"vulnerabilities": [{"cveID": "1", "dateAdded": "2021-12-10"}]}`, "no entries": `{"vulnerabilities": []}`,
			"no date": `{"vulnerabilities": [{"cveID": "CVE-2021-44228", "dateAdded": "soon"}]}`,
			"a kind":  `{"vulnerabilities": [{"cveID": 1}]}`,
		} {
			if _, err := fs.LoadKEV(ctx, strings.NewReader(text)); !errs.Is(err, errs.Invalid) || errs.From(err).Param != "kev" {
				t.Errorf("%s: %v", name, err)
			}
		}
		check()
		if after, err := Generation(ctx, d); err != nil || after != before {
			t.Errorf("%d, was %d: %v", after, before, err)
		}
		for _, table := range []string{"feed_epss", "feed_kev"} {
			if n, err := db.Value[int](ctx, d, `SELECT count(*) FROM `+table); err != nil || n != 2 {
				t.Errorf("%s has %d rows: %v", table, n, err)
			}
		}
		if l, err := fs.LoadEPSS(ctx, strings.NewReader("cve,epss,percentile\nCVE-2014-0160,0.5,0.6\n")); err != nil || l.Entries != 1 {
			t.Fatal(l, err)
		}
		if scores, err := Scores(ctx, d, cves); err != nil || len(scores) != 1 || scores["CVE-2014-0160"].Score != 0.5 {
			t.Errorf("%v %v", scores, err)
		}
		if list, err := fs.List(ctx); err != nil || len(list) != 2 || list[0].Name != EPSS || list[0].Entries != 1 {
			t.Errorf("%+v %v", list, err)
		}
	})
}

func TestBounds(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fs := New(d)
		fs.maxBytes, fs.maxEntries = 1000, 3
		if _, err := fs.LoadEPSS(t.Context(), zipped("cve,epss,percentile\n"+strings.Repeat("#", 2000))); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
		if _, err := fs.LoadKEV(t.Context(), strings.NewReader(`{"x": "`+strings.Repeat("x", 2000)+`"}`)); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
		text := "cve,epss,percentile\n"
		for i := range 4 {
			text += fmt.Sprintf("CVE-2020-100%d,0.1,0.1\n", i)
		}
		if _, err := fs.LoadEPSS(t.Context(), strings.NewReader(text)); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
	})
}

func FuzzKEV(f *testing.F) {
	f.Add(kevText)
	f.Fuzz(func(t *testing.T, text string) {
		l := &load{Feeds: New(nil), name: KEV, seen: map[string]bool{}}
		l.maxEntries = loadRows - 1 // nothing is written
		if _, err := l.readKEV(t.Context(), strings.NewReader(text)); err != nil && errs.From(err).Kind != errs.Invalid {
			t.Errorf("%v", err)
		}
	})
}

func FuzzEPSS(f *testing.F) {
	f.Add(epssText)
	f.Fuzz(func(t *testing.T, text string) {
		l := &load{Feeds: New(nil), name: EPSS, seen: map[string]bool{}}
		l.maxEntries = loadRows - 1 // nothing is written
		if _, err := l.readEPSS(t.Context(), strings.NewReader(text)); err != nil && errs.From(err).Kind != errs.Invalid {
			t.Errorf("%v", err)
		}
	})
}
