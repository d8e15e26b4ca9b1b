# SPDX-License-Identifier: MIT
# names.jq - how a row of --json is called in a table.
def row_name: if .label == null then .type elif .type == null then .label else .type + " " + .label end;
