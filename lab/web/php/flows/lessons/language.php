<?php
require 'lesson.php';
if (level() === 'medium' && stripos(text($_GET, 'default'), '<script') !== false) go('/language.php?default=English');
$write = level() === 'high' ? 'o.textContent = lang' : "o.outerHTML = '<option value=\"' + lang + '\">' + lang + '</option>'";
show('Language', '<form method="get" action="/language.php"><select name="default" id="s"></select><button>Choose</button></form>' .
    '<script>var at = location.href.indexOf("default=");if (at >= 0) {var lang = decodeURIComponent(location.href.substring(at + 8)),' .
    " o = document.createElement('option');document.getElementById('s').appendChild(o);$write;}</script>");
