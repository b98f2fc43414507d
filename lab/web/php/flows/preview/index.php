<?php
// Previews of links. "filter" refuses names of this machine in the text of an address.
require 'fetch.php';
show('Links', form('/card.php', field('link', 'http://' . $_SERVER['HTTP_HOST'] . '/home.html'), 'Preview', 'get') .
    form('/picture.php', hidden() . field('source', 'http://' . $_SERVER['HTTP_HOST'] . '/home.html'), 'Fetch'));
