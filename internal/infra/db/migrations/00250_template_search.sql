-- +goose Up
-- What lists and searches read of templates (docs/adr/0019-lists-from-the-database.md): narrow rows,
-- as a template's own text and metadata are large. The program fills it in for old templates.
CREATE TABLE template_search (
	scope         TEXT NOT NULL,
	id            TEXT NOT NULL,
	written_id    TEXT NOT NULL,
	name          TEXT NOT NULL,
	lower_name    TEXT NOT NULL,
	severity_rank BIGINT NOT NULL,
	type          TEXT NOT NULL,
	path          TEXT NOT NULL,
	dir           TEXT NOT NULL,
	vendor        TEXT NOT NULL,
	product       TEXT NOT NULL,
	requests      BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	facets        TEXT NOT NULL, -- lines such as severity=high, with a line feed before and after each
	folded        TEXT NOT NULL, -- facets and id=…, in lower case
	words         TEXT NOT NULL, -- such as " a:cve-2024-1234 b:upload ": words by weight, the heaviest first
	PRIMARY KEY (scope, id),
	FOREIGN KEY (scope, id) REFERENCES template (scope, id) ON DELETE CASCADE
);
ALTER TABLE template_scope DROP COLUMN rev;

-- +goose Down
ALTER TABLE template_scope ADD COLUMN rev BIGINT NOT NULL DEFAULT 0;
DROP TABLE template_search;
