-- +goose Up
-- Every order that lists of assets offer has an index, and as those of assets, those of findings have the
-- newest of equal rows first.
CREATE INDEX asset_by_domain ON asset (team_id, domain, no DESC);
CREATE INDEX asset_by_webserver ON asset (team_id, webserver, no DESC);
CREATE INDEX asset_by_service ON asset (team_id, service, no DESC);
CREATE INDEX asset_by_technologies ON asset (team_id, technologies, no DESC);
CREATE INDEX asset_by_cname ON asset (team_id, cname, no DESC);
CREATE INDEX asset_by_favicon ON asset (team_id, favicon, no DESC);
CREATE INDEX asset_by_labels ON asset (team_id, labels, no DESC);
DROP INDEX finding_host;
CREATE INDEX finding_host ON finding (team_id, host, no DESC);
DROP INDEX finding_template;
CREATE INDEX finding_template ON finding (team_id, template_id, no DESC);
-- Entries of assets say that there is a title: those from before are brought in again at the start.
DELETE FROM list_backfill WHERE name = 'asset';

-- +goose Down
DROP INDEX finding_template;
CREATE INDEX finding_template ON finding (team_id, template_id, no);
DROP INDEX finding_host;
CREATE INDEX finding_host ON finding (team_id, host, no);
DROP INDEX asset_by_labels;
DROP INDEX asset_by_favicon;
DROP INDEX asset_by_cname;
DROP INDEX asset_by_technologies;
DROP INDEX asset_by_service;
DROP INDEX asset_by_webserver;
DROP INDEX asset_by_domain;
