<?php
require 'lab.php';
$q = text($_GET, 'q');
$n = row('SELECT COUNT(*) AS n FROM book WHERE text LIKE ?', "%$q%")['n'];
$shown = variant('weak') ? $q : htmlspecialchars($q, variant('attr') ? ENT_COMPAT : ENT_QUOTES);
show('Search', "<form method='get' action='/search.php'><input name='q' value='$shown'><button>Search</button></form><p>$n found.</p>");
