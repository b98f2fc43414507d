<?php
require 'lab.php';
show('Tools', form('/sum.php', field('sum', '1+2'), 'Reckon', 'get') . form('/format.php', field('text', 'hello') .
    '<select name="how"><option>strtoupper</option><option>strrev</option><option>md5</option></select>', 'Format'));
