-- +goose Up
-- Feeds about CVEs that the operator has loaded from files. A load writes rows of a generation of its own, which takes
-- effect as a whole when it is that of the feed.
CREATE TABLE feed (
	name       TEXT PRIMARY KEY,             -- epss, kev or cve
	generation BIGINT NOT NULL,              -- the time of the load
	entries    BIGINT NOT NULL,
	version    TEXT NOT NULL,                -- what the file says of itself, such as a date
	loaded_at  BIGINT NOT NULL
);
CREATE TABLE feed_epss (
	generation BIGINT NOT NULL,
	cve        TEXT NOT NULL,
	score      BIGINT NOT NULL,              -- in hundred thousandths, as is the percentile
	percentile BIGINT NOT NULL,
	PRIMARY KEY (generation, cve)
);
CREATE TABLE feed_kev (
	generation    BIGINT NOT NULL,
	cve           TEXT NOT NULL,
	added         TEXT NOT NULL,             -- a date; since then it is known to be exploited
	due           TEXT NOT NULL,             -- a date that authorities have set; empty: none
	is_ransomware BOOLEAN NOT NULL,
	name          TEXT NOT NULL,
	action        TEXT NOT NULL,
	PRIMARY KEY (generation, cve)
);

-- +goose Down
DROP TABLE feed_kev;
DROP TABLE feed_epss;
DROP TABLE feed;
