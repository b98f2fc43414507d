<?php
$all = array_map('basename', glob(__DIR__ . '/papers/*.txt'));
?><!doctype html><html lang="pl"><head><meta charset="utf-8"><title>Archiwum gminy</title></head><body><h3>Archiwum gminy</h3><ul>
<?php foreach ($all as $name) { echo "<li><a href=\"/czytaj.php?akt=$name\">", substr($name, 0, 4), '</a></li>'; } ?>
</ul><p>Otwarte we wtorki.</p></body></html>
