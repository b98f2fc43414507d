<?php
require 'lab.php';
show('Card', hello() . '<p id="o"></p><script>fetch("/api/card.php").then(r => r.text()).then(t => ' .
    '{ document.getElementById("o").textContent = t })</script>');
